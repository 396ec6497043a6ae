#include "scheduler/core/advice/what_if.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "scheduler/core/lifecycle/account_bars.h"
#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/lifecycle/dependencies.h"
#include "scheduler/core/lifecycle/plan_apply.h"
#include "scheduler/core/model/account_access.h"
#include "scheduler/core/model/first_start.h"
#include "scheduler/core/model/planted.h"
#include "scheduler/core/model/save_reach.h"
#include "scheduler/core/planning/job_order.h"
#include "scheduler/core/planning/planner.h"
#include "scheduler/core/planning/victims.h"
#include "sdk/base/gpu_time_text.h"

namespace glim::core {
namespace {

constexpr std::size_t kAheadNamedMax = 20;
constexpr std::size_t kZonesTriedMax = 16;
constexpr std::size_t kVictimsSaidMax = 3;
constexpr std::array kClasses = {PriorityClass::kLow,      PriorityClass::kBelowNormal, PriorityClass::kUnderNormal,
                                 PriorityClass::kNormal,   PriorityClass::kAboveNormal, PriorityClass::kHigh,
                                 PriorityClass::kVeryHigh, PriorityClass::kExtremeHigh};

std::string Jobs(const std::vector<JobId>& jobs) {
  std::string text = jobs.size() == 1 ? "job " : "jobs ";
  const std::size_t said = std::min(jobs.size(), kVictimsSaidMax);
  for (std::size_t i = 0; i < said; ++i) text += (i ? ", " : "") + std::to_string(jobs[i].value);
  if (jobs.size() > said) text += " and " + std::to_string(jobs.size() - said) + " more";
  return text;
}

Job WithSpec(Job job, const JobSpec& spec) {
  job.spec = std::make_shared<const JobSpec>(spec);
  return job;
}

}  // namespace

VictimCost CostOfInterrupt(const ClusterState& state, const Policy& policy, AttemptId id, TimePoint now) {
  const Attempt& attempt = *state.FindAttempt(id);
  VictimCost cost;
  cost.attempt = id;
  cost.preemption_cost_gpu_ms = PreemptionCostOf(state, policy, attempt, now);
  cost.since_save = now - std::max(attempt.started_at, attempt.durable_at);
  const std::int64_t kept = std::max(attempt.base.step, attempt.durable_step);
  cost.steps_since_save = std::max<std::int64_t>(0, attempt.last_step - kept);
  return cost;
}

std::int64_t Trial::preemption_cost_gpu_ms() const {
  std::int64_t preemption_cost = 0;
  for (const VictimCost& victim : victims) preemption_cost += victim.preemption_cost_gpu_ms;
  return preemption_cost;
}

std::string StartText(const Trial& trial) {
  std::string text = "starts now";
  if (!trial.victims.empty()) {
    std::vector<JobId> jobs;
    for (const VictimCost& victim : trial.victims) jobs.push_back(victim.attempt.job);
    text += (trial.start->moved ? " by moving " : " by interrupting ") + Jobs(jobs) + " (preemption cost " +
            GpuTimeText(trial.preemption_cost_gpu_ms()) + ")";
  }
  if (!trial.start->displaced.empty()) {
    std::vector<JobId> jobs;
    for (const AttemptId displaced : trial.start->displaced) jobs.push_back(displaced.job);
    text += std::string(trial.victims.empty() ? " by" : " and by") + " taking the place of " + Jobs(jobs);
  }
  if (!trial.awaited.empty()) {
    text += ", as soon as " + Jobs(trial.awaited) + (trial.awaited.size() == 1 ? " has" : " have") + " left";
  }
  return text;
}

WhatIf::WhatIf(ClusterState state, const Policy& policy, TimePoint now)
    : state_(std::move(state)), policy_(policy), now_(now) {}

Trial WhatIf::Read(const ClusterState& state, const core::Plan& plan, const Job& job) const {
  Trial trial;
  const auto is_it = [&](const PlannedStart& start) { return start.job == job.id; };
  const auto start = std::find_if(plan.starts.begin(), plan.starts.end(), is_it);
  if (start == plan.starts.end()) {
    const auto verdict = plan.verdicts->find(ShapeOf(job));
    if (!job.waits_for.empty()) {
      trial.blockers = DependencyBlockers(state.tables(), job);
    } else if (WaitsForFirstStart(job)) {
      trial.blockers = {FirstStartBlocker(job, now_)};
    } else if (job.waits_for_save) {
      trial.blockers = {SaveBlocker(state.tables(), job)};
    } else if (verdict != plan.verdicts->end()) {
      trial.blockers = verdict->second;
    }
    return trial;
  }
  trial.start = *start;
  for (const AttemptId victim : start->victims) trial.victims.push_back(CostOfInterrupt(state, policy_, victim, now_));
  // A node may be a victim's of another start of the same pass: it leaves anyway.
  std::set<JobId> awaited;
  for (const NodeId id : start->nodes) {
    const AttemptId holder = state.FindNode(id)->holder;
    const bool counted = std::count(start->victims.begin(), start->victims.end(), holder) > 0 ||
                         std::count(start->displaced.begin(), start->displaced.end(), holder) > 0;
    if (holder && !counted) awaited.insert(holder.job);
  }
  trial.awaited.assign(awaited.begin(), awaited.end());
  return trial;
}

std::vector<Trial> WhatIf::Decide(const std::vector<Job>& jobs, PassTrace* trace) const {
  std::vector<Trial> trials(jobs.size());
  std::optional<ClusterState> later;  // with what the passes before have started
  for (int pass = 1;; ++pass) {
    const ClusterState& state = later ? *later : state_;
    const core::Plan plan = trace ? MakePlanTracing(state, policy_, now_, trace) : MakePlan(state, policy_, now_);
    bool all_begin = true;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (!trials[i].start) trials[i] = Read(state, plan, jobs[i]);
      all_begin = all_begin && trials[i].start && trials[i].victims.empty() && trials[i].awaited.empty();
    }
    const bool last = plan.starts.empty() && plan.reserved.empty() && plan.leaves.empty();
    if (all_begin || last || pass == kPassesMax || Planted(PlantedBug::kPlanLooksOnce)) return trials;
    if (!later) later = state_;
    later->dirty = false;
    Changes changes(*later, policy_, now_);
    ApplyPlan(changes, plan);
    changes.Take();
    // Who only waits for its nodes may have lost them to a more urgent job, which the passes before left aside.
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (!later->LiveAttempt(*later->FindJob(jobs[i].id))) trials[i].start.reset();
    }
    if (!later->dirty) return trials;
  }
}

Trial WhatIf::Try(const Job& job) {
  const Job before = *state_.FindJob(job.id);
  state_.Put(job);
  Trial trial = std::move(Decide({job}).front());
  state_.Put(before);
  return trial;
}

Explanation OutlookOf(const ClusterState& state, const Policy& policy, const Job& job, TimePoint now) {
  Explanation outlook;
  Pass pass(state, policy, now);
  const Ahead ahead = AheadOf(pass, job, kAheadSimulatedMax);
  outlook.ahead_count = ahead.count;
  const std::size_t named = std::min(ahead.first.size(), kAheadNamedMax);
  for (std::size_t i = 0; i < named; ++i) outlook.ahead.push_back(ahead.first[i]->id);
  const bool promised = job.waits_for.empty() && !job.waits_for_save && HasNodes(pass, job) &&
                        HasUnreservedNodes(pass, job) && !NeedsLinkOfOtherPools(pass, job) &&
                        pass.quota().TurnOf(job).standing == QuotaStanding::kWithin &&
                        state.FindBudget(job.team) == nullptr &&  // it may be used up before
                        BarOf(state.accounts(), policy, job.user, job.team, job.spec->pool) == Bar::kNone;
  // Its wait begins with its first moment.
  const TimePoint waits_since = WaitsForFirstStart(job) ? job.not_before : job.queued_at;
  if (promised) outlook.promised_by = waits_since + PromisedWait(state, policy, job);
  outlook.estimate = EstimateStart(pass, job, ahead, outlook.promised_by);
  return outlook;
}

// The most nodes with which it starts: between a number that does and one that does not.
void WhatIf::TryFewerNodes(const Job& job, std::vector<Counterfactual>& found) {
  JobSpec spec = *job.spec;
  std::uint32_t starts = 0, waits = spec.nodes;
  Trial best;
  while (starts + 1 < waits) {
    spec.nodes = starts + (waits - starts) / 2;
    Trial trial = Try(WithSpec(job, spec));
    if (!trial.start) {
      waits = spec.nodes;
      continue;
    }
    starts = spec.nodes;
    best = std::move(trial);
  }
  if (starts == 0) return;
  std::string message =
      "with " + std::to_string(starts) + (starts == 1 ? " node" : " nodes") + " it " + StartText(best);
  found.push_back({ChangeKind::kNodes, std::to_string(starts), std::move(message), std::move(best)});
}

void WhatIf::TryZones(const Job& job, std::vector<Counterfactual>& found) {
  const std::vector<std::string>& asked = job.spec->placement.zones;
  const auto pool = state_.index().nodes_by_pool.find(job.spec->pool);
  if (asked.empty() || pool == state_.index().nodes_by_pool.end()) return;  // it may be in any zone as it is
  std::set<std::string> others;
  for (const NodeId id : pool->second) others.insert(state_.FindNode(id)->labels.zone);
  for (const std::string& zone : asked) others.erase(zone);
  std::size_t tried = 0;
  for (const std::string& zone : others) {
    if (++tried > kZonesTriedMax) return;
    JobSpec spec = *job.spec;
    spec.placement.zones = {zone};
    Trial trial = Try(WithSpec(job, spec));
    if (!trial.start) continue;
    std::string message = "in zone " + zone + " it " + StartText(trial);
    found.push_back({ChangeKind::kZone, zone, std::move(message), std::move(trial)});
  }
}

// The lowest of the classes above its own that is enough.
void WhatIf::TryClasses(const Job& job, std::vector<Counterfactual>& found) {
  const PriorityClass own = Pass(state_, policy_, now_).quota().TurnOf(job).charged;
  for (const PriorityClass higher : kClasses) {
    if (higher <= own) continue;
    JobSpec spec = *job.spec;
    spec.priority = higher;
    Job changed = WithSpec(job, spec);
    changed.priority = higher;
    Trial trial = Try(changed);
    if (!trial.start) continue;
    std::string message = std::string("at priority ") + ToString(higher) + " it " + StartText(trial);
    found.push_back({ChangeKind::kPriority, ToString(higher), std::move(message), std::move(trial)});
    return;
  }
}

Explanation WhatIf::Explain(JobId id) {
  const Job job = *state_.FindJob(id);
  Explanation explanation = OutlookOf(state_, policy_, job, now_);
  if (job.not_before > now_) return explanation;  // no change of what it asks for ends its backoff
  if (BarOf(state_.accounts(), policy_, job.user, job.team, job.spec->pool) != Bar::kNone)
    return explanation;  // an operator's
  if (!job.waits_for.empty()) {
    Job alone = job;
    alone.waits_for.clear();
    Trial trial = Try(alone);
    if (trial.start) {
      std::string message = "without the jobs that it waits for it " + StartText(trial);
      explanation.counterfactuals.push_back({ChangeKind::kAfter, "", std::move(message), std::move(trial)});
    }
    return explanation;
  }
  if (job.waits_for_save) return explanation;  // no change of what it asks for helps
  TryFewerNodes(job, explanation.counterfactuals);
  TryZones(job, explanation.counterfactuals);
  TryClasses(job, explanation.counterfactuals);
  return explanation;
}

std::vector<WhatIf::Planned> WhatIf::Plan(const std::string& user, const std::string& team,
                                          const std::vector<JobSpec>& specs) {
  std::vector<Job> jobs;
  for (const JobSpec& spec : specs) {
    Job& job = jobs.emplace_back();
    job.id = state_.next_job_id;
    job.user = user;
    const auto own = TeamFor(state_.accounts(), user, spec.team);
    job.team = own.ok() && (team.empty() || !spec.team.empty()) ? *own : team;
    JobSpec with_pool = spec;
    if (spec.pool.empty()) with_pool.pool = DefaultPool(state_.accounts(), job.team);
    job.spec = std::make_shared<const JobSpec>(std::move(with_pool));
    job.priority = spec.priority;
    job.submitted_at = job.queued_at = now_;
    job.not_before = FirstStart(spec, now_);
    job.waits_for = Unfulfilled(state_, spec);
    state_.Put(job);  // moves next_job_id on
  }
  std::vector<Trial> trials = Decide(jobs);
  std::vector<Planned> planned(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    planned[i].trial = std::move(trials[i]);
    if (!planned[i].trial.start) planned[i].explanation = OutlookOf(state_, policy_, jobs[i], now_);
  }
  for (const Job& job : jobs) state_.EraseJob(job.id);
  return planned;
}

}  // namespace glim::core
