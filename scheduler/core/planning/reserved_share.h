// Which nodes of its pool a share gets (reserved.h). Pure.
#pragma once

#include <set>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/policy.h"

namespace glim::core {

// Ascending; fewer than the share if the pool has no more. `taken`: others' while it lasts. `exact`: it keeps what it
// has, and what victims would pay counts; without it only who has the nodes, which is cheap.
std::vector<NodeId> ChooseShare(const ClusterState& state, const Policy& policy, TimePoint now, const Reservation& row,
                                const std::set<NodeId>& taken, bool exact);

}  // namespace glim::core
