#include "scheduler/core/planning/explain.h"

#include <algorithm>

#include "scheduler/core/model/feasibility.h"
#include "scheduler/core/model/planted.h"

namespace glim::core {
namespace {

std::string Nodes(std::int64_t n) { return std::to_string(n) + (n == 1 ? " node" : " nodes"); }

std::string Ids(const Field& field) {
  std::string text;
  for (std::size_t i = 0; i < field.holders.size() && i < 3; ++i) {
    text += (i ? ", " : "") + std::to_string(field.holders[i].value);
  }
  if (field.holders_all > 3) text += " and " + std::to_string(field.holders_all - 3) + " more";
  return text;
}

Blocker BusyBlocker(const Pass& pass, const Job& job, const Field& field, bool one_zone) {
  const auto have = static_cast<std::int64_t>(one_zone ? field.free_in_best_zone : field.free);
  std::string where = one_zone && have > 0 ? " in zone " + pass.ZoneName(field.best_zone) : "";
  std::string message = Nodes(have) + " free" + where + ", " + std::to_string(job.spec->nodes) + " needed";
  if (!field.holders.empty()) message += "; held by job " + Ids(field);
  return {BlockerKind::kNodesBusy, std::move(message), have, job.spec->nodes, field.holders};
}

}  // namespace

Blocker QuotaBlocker(const Pass& pass, const Job& job) {
  const QuotaTurn turn = pass.quota().TurnOf(job);
  const QuotaUse::Left quota = pass.quota().LeftFor(job, turn.charged);
  const std::int64_t left = quota.nodes;
  const std::int64_t need = job.spec->nodes;
  if (turn.standing == QuotaStanding::kNotAllowed) {
    return {BlockerKind::kQuota,
            "quota of " + quota.of + ": class " + ToString(turn.charged) +
                " is not allowed any more (0 nodes); the job waits until an operator changes the quota: cancel it and "
                "submit it in a lower class, or ask for more",
            0,
            need,
            {}};
  }
  return {BlockerKind::kQuota,
          "quota of " + quota.of + " at " + ToString(quota.at) + ": " + Nodes(left) + " left, " + std::to_string(need) +
              " needed; beyond it the job counts as class low, starts only on nodes that nobody else needs, and gives "
              "them back first; no start is promised",
          left,
          need,
          {}};
}

std::vector<Blocker> Explain(const Pass& pass, const Asker& asker, const Field& field) {
  const Job& job = *asker.job;
  std::vector<Blocker> blockers;
  const std::int64_t need = job.spec->nodes;
  if (field.fitting() < job.spec->nodes) {
    blockers.push_back({BlockerKind::kNoFit,
                        Nodes(static_cast<std::int64_t>(field.fitting())) + " of pool " + job.spec->pool +
                            " fit what it asks, " + std::to_string(need) + " needed",
                        static_cast<std::int64_t>(field.fitting()),
                        need,
                        {}});
    return blockers;
  }
  if (!asker.may_interrupt) blockers.push_back(QuotaBlocker(pass, job));
  std::size_t largest = 0;
  for (const auto& [zone, nodes] : field.ask->by_zone) largest = std::max(largest, nodes);
  const bool may_cross = MayCross(*job.spec, pass.policy(), largest);
  if (may_cross && static_cast<std::int64_t>(field.free) >= need) {
    blockers.push_back({BlockerKind::kLinkBusy, "every link between zones that it could span is taken", 0, 1, {}});
  } else if (!(Planted(PlantedBug::kNoBlocker) && may_cross)) {
    blockers.push_back(BusyBlocker(pass, job, field, !may_cross));
  }
  if (field.held_back > 0) {
    const auto kept = static_cast<std::int64_t>(field.held_back);
    blockers.push_back({BlockerKind::kBackfillHold, Nodes(kept) + " kept for a job that comes before it", kept, 0, {}});
  }
  if (field.protected_until) {
    const std::int64_t left_s = ((field.protected_until - pass.now()).ms + 999) / 1000;
    const BlockerKind kind = field.lower_protected ? BlockerKind::kMinRun : BlockerKind::kTimeSlice;
    const char* whose = field.lower_protected ? "a job of a lower class has just started and may run for another "
                                              : "a job that gives way to it has just started and may run for another ";
    blockers.push_back({kind, whose + std::to_string(left_s) + " s", 0, left_s, {}});
  }
  return blockers;
}

}  // namespace glim::core
