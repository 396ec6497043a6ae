// Whom a reservation would hit, tried on a copy of the state. Pure.
#pragma once

#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/policy.h"

namespace glim::core {

// Attempts of others that are now on nodes that it would have, were it in force: those of a share are chosen anew as
// it comes near. `state`: a copy. Ascending.
std::vector<AttemptId> OthersOn(ClusterState state, const Policy& policy, Reservation row, TimePoint now);

}  // namespace glim::core
