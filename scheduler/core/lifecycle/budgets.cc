#include "scheduler/core/lifecycle/budgets.h"

#include <string>
#include <utility>

#include "scheduler/core/lifecycle/seen.h"
#include "scheduler/core/model/account_access.h"
#include "scheduler/core/model/budget_use.h"

namespace glim::core {
namespace {

Status NoBudget(const std::string& team) {
  return Status(StatusCode::kNotFound, "team " + team.substr(0, 64) + " has no budget")
      .WithReason("NO_SUCH_BUDGET")
      .WithField("team")
      .WithFix("glim admin budget ls lists them");
}

Status CheckBudget(const ClusterState& state, const Budget* before, const SetBudget& event) {
  if (!event.gpu_ms_max) return before ? Status::Ok() : NoBudget(event.team);
  if (!IsTeam(state.accounts(), event.team)) {
    return InvalidArgument("team", "there is no team " + event.team.substr(0, 64),
                           "glim admin team list shows the teams");
  }
  if (*event.gpu_ms_max < 1 || *event.gpu_ms_max > kBudgetGpuMsMax) {
    return InvalidArgument("gpu_ms_max", std::to_string(*event.gpu_ms_max) + " is no budget",
                           "use 1 ms to a thousand million GPU-hours; glim admin budget rm takes a budget away");
  }
  if (!before && state.tables().budgets.size() >= kBudgetsMax) {
    return Status(StatusCode::kResourceExhausted, "there are " + std::to_string(kBudgetsMax) + " budgets already")
        .WithReason("TOO_MANY_BUDGETS")
        .WithField("team")
        .WithFix("take some away: glim admin budget rm TEAM");
  }
  return Status::Ok();
}

}  // namespace

Budget BudgetAfter(const Tables& tables, const Budget* before, const SetBudget& event, TimePoint now) {
  Budget row = before ? *before : Budget{};
  row.id.team = event.team;
  row.gpu_ms_max = event.gpu_ms_max.value_or(row.gpu_ms_max);
  if (!before || event.restart) {
    row.booked_gpu_ms = -UnbookedGpuMs(tables, event.team, now);
    row.since = now;
  }
  row.made_by = event.by;
  row.made_at = now;
  return row;
}

void ApplySetBudget(Changes& changes, const SetBudget& event) {
  const Budget* const before = changes.state().FindBudget(event.team);
  Status& status = changes.reply().status;
  if (event.expected && !IsAsSeen(before, *event.expected)) {
    status = ChangedMeanwhile("the budget of team " + event.team);
    return;
  }
  status = CheckBudget(changes.state(), before, event);
  if (!status.ok() || event.dry_run) return;
  if (!event.gpu_ms_max) return changes.EraseBudget({event.team});
  changes.Write(BudgetAfter(changes.state().tables(), before, event, changes.now()));
  changes.MarkDirty();
}

}  // namespace glim::core
