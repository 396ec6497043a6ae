// What teams have used of their budgets, and who may start no job for that. Pure questions to the rows.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "scheduler/core/model/blocker.h"
#include "scheduler/core/model/cluster_state.h"

namespace glim::core {

// What nodes have been held for by the team's jobs and the ledger has not booked yet, in GPU-milliseconds.
std::int64_t UnbookedGpuMs(const Tables& tables, const std::string& team, TimePoint now);

// What the team has used since its budget began, in GPU-milliseconds.
std::int64_t UsedGpuMs(const Tables& tables, const Budget& budget, TimePoint now);

// The teams that have used up theirs. Walks the nodes where there are budgets, and costs nothing where not.
std::set<std::string> TeamsOverBudget(const Tables& tables, TimePoint now);

// Of a job of such a team that waits.
Blocker BudgetBlocker(const Budget& budget);

}  // namespace glim::core
