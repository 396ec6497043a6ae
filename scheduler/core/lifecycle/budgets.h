// Budgets: an operator says how much GPU-time the jobs of a team may use. While it is used up none of them starts; what
// runs runs on. The ledger books what is used (changes.h), and what it has not booked yet counts as well
// (model/budget_use.h).
#pragma once

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/event.h"

namespace glim::core {

// What would come of it: the row as it will be. `before`: null if the team has none.
Budget BudgetAfter(const Tables& tables, const Budget* before, const SetBudget& event, TimePoint now);

void ApplySetBudget(Changes& changes, const SetBudget& event);

}  // namespace glim::core
