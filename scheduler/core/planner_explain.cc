#include "scheduler/core/planner_explain.h"

#include <algorithm>

#include "scheduler/core/feasibility.h"
#include "scheduler/core/planted.h"

namespace glim::core {
namespace {

constexpr std::size_t kJobsNamedMax = 20;

std::string Nodes(std::int64_t n) { return std::to_string(n) + (n == 1 ? " node" : " nodes"); }

std::string Ids(const std::vector<JobId>& jobs) {
  std::string text;
  for (std::size_t i = 0; i < jobs.size() && i < 3; ++i) text += (i ? ", " : "") + std::to_string(jobs[i].value);
  if (jobs.size() > 3) text += " and " + std::to_string(jobs.size() - 3) + " more";
  return text;
}

struct Free {
  std::int64_t total = 0;
  std::int64_t best_zone = 0;
  std::uint32_t zone = 0;
};

Free CountFree(const Field& field) {
  std::map<std::uint32_t, std::int64_t> by_zone;
  Free free;
  for (const Candidate& c : field.candidates) {
    if (c.tier != Tier::kFree) continue;
    ++free.total;
    if (++by_zone[c.zone] > free.best_zone) {
      free.best_zone = by_zone[c.zone];
      free.zone = c.zone;
    }
  }
  return free;
}

Blocker QuotaBlocker(const Pass& pass, const Job& job, PriorityClass priority) {
  const std::int64_t left = pass.QuotaLeft(job.user, priority);
  const std::int64_t need = job.spec->nodes;
  return {BlockerKind::kQuota,
          "quota of " + job.user + " at " + ToString(priority) + ": " + Nodes(left) + " left, " + std::to_string(need) +
              " needed; beyond it the job starts only on nodes that nobody else needs",
          left, need, {}};
}

Blocker BusyBlocker(const Pass& pass, const Job& job, const Field& field, bool one_zone) {
  const Free free = CountFree(field);
  const std::int64_t have = one_zone ? free.best_zone : free.total;
  std::vector<JobId> jobs(field.holders.begin(), field.holders.end());
  if (jobs.size() > kJobsNamedMax) jobs.resize(kJobsNamedMax);
  std::string where = one_zone && have > 0 ? " in zone " + pass.ZoneName(free.zone) : "";
  std::string message = Nodes(have) + " free" + where + ", " + std::to_string(job.spec->nodes) + " needed";
  if (!jobs.empty()) message += "; held by job " + Ids(jobs);
  return {BlockerKind::kNodesBusy, std::move(message), have, job.spec->nodes, std::move(jobs)};
}

}  // namespace

std::vector<Blocker> Explain(const Pass& pass, const Job& job, PriorityClass priority, const Field& field) {
  std::vector<Blocker> blockers;
  const std::int64_t need = job.spec->nodes;
  if (field.fitting < job.spec->nodes) {
    blockers.push_back({BlockerKind::kNoFit,
                        Nodes(static_cast<std::int64_t>(field.fitting)) + " of pool " + job.spec->pool + " fit what it asks, " +
                            std::to_string(need) + " needed",
                        static_cast<std::int64_t>(field.fitting), need, {}});
    return blockers;
  }
  if (!pass.WithinQuota(job, priority)) blockers.push_back(QuotaBlocker(pass, job, priority));
  std::size_t largest = 0;
  for (const auto& [zone, nodes] : field.fitting_by_zone) largest = std::max(largest, nodes);
  const bool may_cross = MayCross(*job.spec, pass.policy(), largest);
  const Free free = CountFree(field);
  if (may_cross && free.total >= need) {
    blockers.push_back({BlockerKind::kLinkBusy, "every link between zones that it could span is taken", 0, 1, {}});
  } else if (!(Planted(PlantedBug::kNoBlocker) && may_cross)) {
    blockers.push_back(BusyBlocker(pass, job, field, !may_cross));
  }
  if (field.reserved > 0) {
    const auto kept = static_cast<std::int64_t>(field.reserved);
    blockers.push_back({BlockerKind::kReserved, Nodes(kept) + " kept for a job that has waited longer", kept, 0, {}});
  }
  if (field.protected_until) {
    const std::int64_t left_s = ((field.protected_until - pass.now()).ms + 999) / 1000;
    blockers.push_back({BlockerKind::kMinRun,
                        "a job of a lower class has just started and may run for another " + std::to_string(left_s) + " s", 0,
                        left_s, {}});
  }
  return blockers;
}

}  // namespace glim::core
