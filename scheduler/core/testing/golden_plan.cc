#include "scheduler/core/testing/golden_plan.h"

#include <algorithm>
#include <set>
#include <vector>

#include "scheduler/core/planning/planner.h"
#include "scheduler/core/planning/queue_ahead.h"
#include "scheduler/core/planning/victims.h"
#include "sdk/base/duration_text.h"

namespace glim::core::testing {
namespace {

std::string JobText(AttemptId attempt) { return "job " + std::to_string(attempt.job.value); }

std::string CostText(const GoldenInput& input, AttemptId id) {
  const Attempt& attempt = *input.state.FindAttempt(id);
  const std::int64_t cost = PreemptionCostOf(input.state, input.policy, attempt, input.now);
  return ", preemption cost " + std::to_string(cost / 1000) + " GPU s\n";
}

std::string StartText(const GoldenInput& input, const PlannedStart& start) {
  std::string text = "start job " + std::to_string(start.job.value) + " as " + ToString(start.charged);
  text += start.borrowed ? ", borrowed, on" : ", on";
  for (const NodeId node : start.nodes) text += " " + input.state.FindNode(node)->name;
  text += ", quantum " + DurationText(start.quantum) + "\n";
  for (const AttemptId victim : start.victims) {
    text += (victim == start.moved ? "  moves " : "  interrupts ") + JobText(victim) + CostText(input, victim);
  }
  for (const AttemptId displaced : start.displaced) text += "  takes the claims of " + JobText(displaced) + "\n";
  return text;
}

std::string WaitText(const Plan& plan, const Pass& pass, const Job& job) {
  std::string text = "wait job " + std::to_string(job.id.value) + ", behind " +
                     std::to_string(AheadOf(pass, job, 0).count) + " in the queue\n";
  const auto verdict = plan.verdicts->find(ShapeOf(job));
  if (verdict == plan.verdicts->end()) return text + "  nobody says why\n";
  for (const Blocker& blocker : verdict->second) {
    text += std::string("  ") + ToString(blocker.kind) + ", have " + std::to_string(blocker.have) + ", need " +
            std::to_string(blocker.need) + ": " + blocker.message + "\n";
  }
  return text;
}

}  // namespace

std::string GoldenPlan(const GoldenInput& input) {
  const Plan plan = MakePlan(input.state, input.policy, input.now);
  const Pass pass(input.state, input.policy, input.now);
  std::string text;
  std::set<JobId> started;
  for (const auto& [name, nodes] : plan.reserved) {
    text += "reservation " + name + " has";
    for (const NodeId node : nodes) text += " " + input.state.FindNode(node)->name;
    text += "\n";
  }
  for (const ReservedLeave& leave : plan.leaves) {
    text += JobText(leave.attempt) + " leaves for reservation " + leave.reservation + "\n";
  }
  for (const PlannedStart& start : plan.starts) {
    text += StartText(input, start);
    started.insert(start.job);
  }
  input.state.tables().jobs.ForEach([&](JobId id, const Job& job) {
    if (job.state == JobState::kQueued && !started.contains(id)) text += WaitText(plan, pass, job);
  });
  text += plan.look_again ? "look again in " + DurationText(plan.look_again - input.now) + "\n"
                          : "look again when something happens\n";
  return text;
}

}  // namespace glim::core::testing
