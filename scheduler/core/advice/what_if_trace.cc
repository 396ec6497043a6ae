// WhatIf::Trace: one decision with all that was tried.
#include <algorithm>
#include <string>
#include <utility>

#include "scheduler/core/advice/what_if.h"
#include "scheduler/core/model/first_start.h"
#include "scheduler/core/planning/planner.h"
#include "scheduler/core/planning/trace_words.h"

namespace glim::core {
namespace {

// Who stands before it in the queue of its pool, whether they get nodes or not.
TraceStep AheadStep(const ClusterState& state, const Policy& policy, const Job& job, TimePoint now) {
  const Explanation outlook = OutlookOf(state, policy, job, now);
  TraceStep step{TraceStage::kOrder, "", {}, outlook.ahead};
  if (outlook.ahead_count == 0) {
    step.message = "nobody in pool " + job.spec->pool + " comes before it";
    return step;
  }
  step.message = std::to_string(outlook.ahead_count) + (outlook.ahead_count == 1 ? " job" : " jobs") + " of pool " +
                 job.spec->pool + (outlook.ahead_count == 1 ? " comes" : " come") + " before it, job " +
                 std::to_string(outlook.ahead.front().value) + " first";
  return step;
}

}  // namespace

WhatIf::Traced WhatIf::Trace(JobId id) {
  const Job job = *state_.FindJob(id);
  Traced traced;
  traced.steps.push_back(AheadStep(state_, policy_, job, now_));
  PassTrace trace(job);
  if (job.not_before > now_) {
    const std::int64_t left_s = ((job.not_before - now_).ms + 999) / 1000;
    const std::string why =
        WaitsForFirstStart(job)
            ? std::string(ToString(BlockerKind::kStartAfter)) + ": " + FirstStartBlocker(job, now_).message
            : std::string(ToString(BlockerKind::kBackoff)) + ": it has no turn for another " + std::to_string(left_s) +
                  " s, after a failure or an interrupt that could not be kept";
    trace.Add(TraceStage::kVerdict, "waits, " + why);
  } else {
    const Trial trial = std::move(Decide({job}, &trace).front());
    traced.starts = trial.start.has_value();
    // It had no turn of its own: whose things keep it from one.
    const auto& steps = trace.steps();
    const bool told = std::any_of(steps.begin(), steps.end(),
                                  [](const TraceStep& step) { return step.stage == TraceStage::kVerdict; });
    if (!told && !trial.start) TellBlockers(&trace, trial.blockers);
  }
  traced.steps.insert(traced.steps.end(), trace.steps().begin(), trace.steps().end());
  traced.left_out = trace.left_out();
  if (traced.starts) return traced;
  const Explanation explanation = Explain(id);
  for (const Counterfactual& tried : explanation.counterfactuals) {
    TraceStep step{TraceStage::kOtherwise, tried.message, tried.trial.start->nodes, {}};
    for (const VictimCost& victim : tried.trial.victims) step.jobs.push_back(victim.attempt.job);
    step.nodes.resize(std::min(step.nodes.size(), kTraceNamedMax));
    step.jobs.resize(std::min(step.jobs.size(), kTraceNamedMax));
    traced.steps.push_back(std::move(step));
  }
  if (explanation.counterfactuals.empty()) {
    traced.steps.push_back(
        {TraceStage::kOtherwise, "no fewer nodes, no other zone and no higher class would start it now", {}, {}});
  }
  return traced;
}

}  // namespace glim::core
