#include "scheduler/core/model/budget_use.h"

#include <algorithm>
#include <map>

#include "sdk/base/gpu_time_text.h"
#include "sdk/base/rfc3339.h"

namespace glim::core {
namespace {

// Of each team that has nodes.
std::map<std::string, std::int64_t> UnbookedByTeam(const Tables& tables, TimePoint now) {
  std::map<std::string, std::int64_t> sums;
  tables.nodes.ForEach([&](NodeId, const Node& node) {
    const Job* const job = node.holder ? tables.jobs.Find(node.holder.job) : nullptr;
    if (job) sums[job->team] += (now - node.use_since).ms * node.labels.gpu_count;
  });
  return sums;
}

}  // namespace

std::int64_t UnbookedGpuMs(const Tables& tables, const std::string& team, TimePoint now) {
  return UnbookedByTeam(tables, now)[team];
}

std::int64_t UsedGpuMs(const Tables& tables, const Budget& budget, TimePoint now) {
  return std::max<std::int64_t>(0, budget.booked_gpu_ms + UnbookedGpuMs(tables, budget.id.team, now));
}

std::set<std::string> TeamsOverBudget(const Tables& tables, TimePoint now) {
  std::set<std::string> over;
  if (tables.budgets.size() == 0) return over;
  auto unbooked = UnbookedByTeam(tables, now);
  tables.budgets.ForEach([&](const BudgetId& id, const Budget& budget) {
    if (budget.booked_gpu_ms + unbooked[id.team] >= budget.gpu_ms_max) over.insert(id.team);
  });
  return over;
}

Blocker BudgetBlocker(const Budget& budget) {
  Blocker blocker;
  blocker.kind = BlockerKind::kBudget;
  blocker.message = "team " + budget.id.team + " has used up its budget of " + GpuTimeText(budget.gpu_ms_max) +
                    " since " + FormatRfc3339(budget.since) +
                    "; the job waits until an operator raises or resets it: glim admin budget set " + budget.id.team;
  return blocker;
}

}  // namespace glim::core
