#include "scheduler/core/model/zone_link.h"

#include <algorithm>

#include "scheduler/core/model/feasibility.h"

namespace glim::core {

bool HasLeftItsLink(const ClusterState& state, const Attempt& attempt) {
  if (!Crosses(attempt) || attempt.state == AttemptState::kEnded) return true;
  if (attempt.state == AttemptState::kClaimed) return false;
  const std::string* zone = nullptr;  // of the nodes that it still holds
  for (const NodeId id : attempt.nodes) {
    const Node* node = state.FindNode(id);
    if (!node || node->holder != attempt.id) continue;
    if (zone && *zone != node->labels.zone) return false;
    zone = &node->labels.zone;
  }
  return true;
}

bool LinkIsFreeFor(const ClusterState& state, const Attempt& attempt) {
  if (!Crosses(attempt)) return true;
  // An operator may have taken the link away since: whoever was promised it has it once, alone.
  const std::uint32_t most = std::max(1u, LinkJobsMax(state.accounts().links, attempt.zones[0], attempt.zones[1]));
  std::uint32_t others = 0;
  for (const auto& [pool, attempts] : state.index().live) {
    for (const AttemptId id : attempts) {
      const Attempt& other = *state.FindAttempt(id);
      if (id == attempt.id || !Crosses(other) || other.state == AttemptState::kClaimed) continue;
      if (LinkOf(other) == LinkOf(attempt) && !HasLeftItsLink(state, other)) ++others;
    }
  }
  return others < most;
}

}  // namespace glim::core
