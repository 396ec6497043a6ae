// Who comes before a queued job in the planner's order (planner.h, step 1). Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "scheduler/core/planning/pass.h"

namespace glim::core {

struct Ahead {
  std::size_t count = 0;
  std::vector<const Job*> first;  // the first of them, in the planner's order; rows of the pass's state
};

// Of the jobs that want nodes of its pool. `job` need not be in the queue's index: it stands where it would.
Ahead AheadOf(const Pass& pass, const Job& job, std::size_t first_max);

}  // namespace glim::core
