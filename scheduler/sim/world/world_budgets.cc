// Operators set, reset and remove budgets of teams.
#include "scheduler/sim/world/aspect.h"
#include "scheduler/sim/world/world.h"

namespace glim::sim {

// When the users have gone home every team may use what waits. That is said again and again: a scheduler may die with
// it, and a store may go back.
void World::OperateBudgets() {
  const bool going_home = report_.events >= options_.events;
  for (const char* const team : {"t1", "t2"}) {
    if (!going_home && budget_rng_.OneIn(2)) continue;
    core::SetBudget set;
    set.team = team;
    set.by = "op";
    if (!going_home && !budget_rng_.OneIn(5)) set.gpu_ms_max = Minutes(budget_rng_.Between(1, 2000)).ms;
    set.restart = budget_rng_.OneIn(3);
    Post(std::move(set));
  }
  timeline_.After(Seconds(budget_rng_.Between(10, 300)), [this] { OperateBudgets(); });
}

}  // namespace glim::sim
