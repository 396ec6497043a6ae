#include "scheduler/core/lifecycle/replica_leave.h"

namespace glim::core {

std::vector<AttemptId> LiveAttempts(const ClusterState& state) {
  std::vector<AttemptId> all;
  for (const auto& [pool, attempts] : state.index().live) all.insert(all.end(), attempts.begin(), attempts.end());
  return all;
}

void LeaveReplicas(Changes& changes, NodeId node) {
  if (changes.state().index().replica_copies.empty()) return;
  for (const AttemptId id : LiveAttempts(changes.state())) {
    changes.EditAttempt(id, [&](Attempt& attempt) {
      for (std::size_t rank = 0; rank < attempt.replicas.size(); ++rank) {
        if (attempt.replicas[rank] == node || attempt.nodes[rank] == node) attempt.replicas[rank] = {};
      }
    });
  }
}

}  // namespace glim::core
