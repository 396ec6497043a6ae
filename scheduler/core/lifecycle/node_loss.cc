#include "scheduler/core/lifecycle/node_loss.h"

#include <algorithm>

#include "scheduler/core/lifecycle/attempt_end.h"
#include "scheduler/core/lifecycle/attempt_machine.h"
#include "scheduler/core/lifecycle/claims.h"
#include "scheduler/core/lifecycle/job_machine.h"
#include "scheduler/core/lifecycle/save_place.h"

namespace glim::core {

void SetNodeState(Changes& changes, NodeId id, NodeState state, const std::string& message) {
  changes.EditNode(id, [&](Node& node) {
    node.state = state;
    node.message = message;
  });
  SettleSavesOn(changes, id);
}

void FallSilent(Changes& changes, NodeId id, const std::string& why) {
  SetNodeState(changes, id, NodeState::kSilent, why);
  changes.Note(HistoryKind::kNodeSilent, {}, id, why);
}

void GiveUpClaims(Changes& changes, NodeId id, const std::string& why) {
  if (changes.node(id).claim) DropClaimOf(changes, id, why);
  const AttemptId holder = changes.node(id).holder;
  if (!holder || changes.attempt(holder).state != AttemptState::kClaimed) return;
  DropClaims(changes, holder, why);
  Requeue(changes, holder.job, {});
}

void Abandon(Changes& changes, NodeId id, const std::string& why, StopCause cause) {
  GiveUpClaims(changes, id, why);
  const AttemptId holder = changes.node(id).holder;
  if (!holder) return;
  const Attempt& attempt = changes.attempt(holder);
  const auto at = std::find(attempt.nodes.begin(), attempt.nodes.end(), id) - attempt.nodes.begin();
  StopAttempt(changes, holder, cause, why);
  WriteOffTask(changes, {holder, static_cast<std::uint32_t>(at)}, why);
  AdvanceAttempt(changes, holder);
}

}  // namespace glim::core
