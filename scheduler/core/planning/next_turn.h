// When looking again at a class that waits could help, though nothing happens.
#pragma once

#include <string>

#include "scheduler/core/planning/pool_view.h"

namespace glim::core {

// Running jobs grow older and come to be preempted, waiting ones starve. `view` is the pool's. 0: never.
TimePoint NextTurnIn(const ClusterState& state, const Policy& policy, TimePoint now, const std::string& pool,
                     const PoolView& view, PriorityClass priority);

}  // namespace glim::core
