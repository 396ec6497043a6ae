// Rows that were written while the clock was ahead, with their times moved back.
//
// What lies behind `now` cannot have happened: it was written by the wrong clock, and is moved by what that was ahead.
// What is only planned (an expiry, a reservation) may lie behind `now` as well: it is moved where it lies behind the
// wrong present too, for it was planned then. Pure.
#pragma once

#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/transition.h"

namespace glim::store {

// Puts of the rows that differ afterwards. `ahead` > 0: by how much the clock was.
std::vector<core::Mutation> MovedBack(const core::ClusterState& rows, TimePoint now, Duration ahead);

}  // namespace glim::store
