// A node that goes, or moves to another zone, is nobody's neighbour any more (replica_placement.h).
#pragma once

#include <vector>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// Of all pools, by pool and id.
std::vector<AttemptId> LiveAttempts(const ClusterState& state);
// Living attempts keep no copies there, nor copies of what they had there.
void LeaveReplicas(Changes& changes, NodeId node);

}  // namespace glim::core
