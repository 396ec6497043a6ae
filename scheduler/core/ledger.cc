#include "scheduler/core/ledger.h"

#include <utility>

#include "scheduler/core/changes.h"
#include "scheduler/core/planted.h"

namespace glim::core {
namespace {

std::size_t At(Use use) { return static_cast<std::size_t>(use); }

}  // namespace

Use UseByHolder(const Attempt& attempt) {
  switch (attempt.state) {
    case AttemptState::kClaimed: return Use::kClaimed;
    case AttemptState::kStarting: return Use::kStarting;
    case AttemptState::kStopping: return Use::kStopping;
    case AttemptState::kEnded: return Use::kUnavailable;
    case AttemptState::kRunning: break;
  }
  const Round* round = attempt.open_round();
  if (round && (round->saved_at || round->left_at)) return Use::kStopping;
  const bool restoring = attempt.base.step >= 0 && attempt.last_step < 0;
  return restoring ? Use::kRestoring : Use::kProductive;
}

namespace {

// Books the time since use_since under the present use, for the node and for its holder's job.
void BookUntilNow(Changes& changes, Node& node, AttemptId holder) {
  const Duration elapsed = changes.now() - node.use_since;
  const std::int64_t gpu_ms = elapsed.ms * node.labels.gpu_count;
  node.use_since = changes.now();
  if (gpu_ms == 0) return;
  node.ledger[At(node.use)] += gpu_ms;
  if (node.use == Use::kProductive) node.at_risk_gpu_ms += gpu_ms;
  if (Planted(PlantedBug::kLedgerLeak) && node.use == Use::kStopping) return;
  if (holder) changes.BookJob(holder.job, node.use, gpu_ms);
}

}  // namespace

Use UseOf(const ClusterState& state, const Node& node) {
  if (node.holder) {
    const Attempt* attempt = state.FindAttempt(node.holder);
    return attempt ? UseByHolder(*attempt) : Use::kUnavailable;
  }
  return node.state == NodeState::kReady && node.zombies.empty() && node.orphans.empty() ? Use::kFree
                                                                                         : Use::kUnavailable;
}

void BookNode(Changes& changes, const Node* old, Node& next) {
  if (!old) {
    next.use_since = next.registered_at = changes.now();
    next.use = UseOf(changes.state(), next);
    return;
  }
  const Use use = UseOf(changes.state(), next);
  const bool regpu = old->labels.gpu_count != next.labels.gpu_count;
  if (use == next.use && old->holder == next.holder && !regpu) return;
  const std::uint32_t gpus = next.labels.gpu_count;
  next.labels.gpu_count = old->labels.gpu_count;
  BookUntilNow(changes, next, old->holder);
  if (regpu) {
    next.registered_gpu_ms_before += (changes.now() - next.registered_at).ms * old->labels.gpu_count;
    next.registered_at = changes.now();
  }
  next.labels.gpu_count = gpus;
  next.use = use;
  if (old->holder != next.holder) next.at_risk_gpu_ms = 0;
}

void BookAttempt(Changes& changes, AttemptId id) {
  const Attempt* attempt = changes.state().FindAttempt(id);
  if (!attempt) return;
  const std::vector<NodeId> nodes = attempt->nodes;
  for (const NodeId id_of_node : nodes) {
    const Node* node = changes.state().FindNode(id_of_node);
    if (node && node->holder == id && UseOf(changes.state(), *node) != node->use)
      changes.EditNode(id_of_node, [](Node&) {});
  }
}

void ClearAtRisk(Changes& changes, const Attempt& attempt) {
  const AttemptId id = attempt.id;
  const std::vector<NodeId> nodes = attempt.nodes;
  for (const NodeId node_id : nodes) {
    if (changes.node(node_id).holder != id) continue;
    changes.EditNode(node_id, [&](Node& node) {
      BookUntilNow(changes, node, id);
      node.at_risk_gpu_ms = 0;
    });
  }
}

std::int64_t TakeAtRisk(Changes& changes, NodeId id) {
  const AttemptId holder = changes.node(id).holder;
  std::int64_t at_risk = 0;
  changes.EditNode(id, [&](Node& node) {
    BookUntilNow(changes, node, holder);
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

std::int64_t RegisteredGpuMs(const Node& node, TimePoint now) {
  return node.registered_gpu_ms_before + (now - node.registered_at).ms * node.labels.gpu_count;
}

}  // namespace glim::core
