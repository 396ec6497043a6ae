#include "scheduler/core/lifecycle/at_risk.h"

#include <utility>
#include <vector>

#include "scheduler/core/lifecycle/ledger.h"

namespace glim::core {
namespace {

std::size_t At(Use use) { return static_cast<std::size_t>(use); }

void Charge(Changes& changes, AttemptId holder, const Booked& booked) {
  if (holder && booked.gpu_ms != 0) changes.BookJob(holder.job, booked.use, booked.gpu_ms);
}

}  // namespace

void ClearAtRisk(Changes& changes, const Attempt& attempt) {
  const AttemptId id = attempt.id;
  const std::vector<NodeId> nodes = attempt.nodes;
  for (const NodeId node_id : nodes) {
    if (changes.node(node_id).holder != id) continue;
    changes.EditNode(node_id, [&](Node& node) {
      Charge(changes, id, BookUntil(node, changes.now()));
      node.at_risk_gpu_ms = 0;
    });
  }
}

std::int64_t TakeAtRisk(Changes& changes, NodeId id) {
  const AttemptId holder = changes.node(id).holder;
  std::int64_t at_risk = 0;
  changes.EditNode(id, [&](Node& node) {
    Charge(changes, holder, BookUntil(node, changes.now()));
    at_risk = std::exchange(node.at_risk_gpu_ms, 0);
  });
  return at_risk;
}

void LoseGpuMs(Changes& changes, NodeId node, JobId job, std::int64_t gpu_ms) {
  if (gpu_ms == 0) return;
  changes.EditNode(node, [&](Node& row) {
    row.ledger[At(Use::kProductive)] -= gpu_ms;
    row.ledger[At(Use::kLost)] += gpu_ms;
  });
  changes.BookJob(job, Use::kProductive, -gpu_ms);
  changes.BookJob(job, Use::kLost, gpu_ms);
}

}  // namespace glim::core
