// What would happen if: changes to a job that are really tried. A copy of the state is changed, the planner is asked,
// and what it decides is the answer. Pure; changes nothing but its own copy. One thread.
//
// A trial is as many planning passes over the whole copy as Decide makes (core.h): who comes before the job gets its
// nodes first, as in life.
//
// Sources: what_if.cc, what_if_trace.cc
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scheduler/core/advice/estimate.h"
#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/enum_words.h"
#include "scheduler/core/model/plan.h"
#include "scheduler/core/model/policy.h"
#include "scheduler/core/planning/pass_trace.h"

namespace glim::core {

// What an interrupted job would pay.
struct VictimCost {
  AttemptId attempt;
  std::int64_t preemption_cost_gpu_ms = 0;  // what the interrupt is expected to cost (victims.h)
  Duration since_save;                // lost if it does not manage to save; since its start where it has not saved yet
  std::int64_t steps_since_save = 0;  // likewise
};

VictimCost CostOfInterrupt(const ClusterState& state, const Policy& policy, AttemptId id, TimePoint now);

// What became of one job in a trial.
struct Trial {
  std::optional<PlannedStart> start;  // none: it does not start now
  std::vector<VictimCost> victims;    // of the start
  std::vector<JobId> awaited;         // jobs that leave its nodes anyway: it starts when they have
  std::vector<Blocker> blockers;      // of one that does not start

  std::int64_t preemption_cost_gpu_ms() const;
};

enum class ChangeKind : std::uint8_t { kNodes, kZone, kPriority, kAfter };
template <>
inline constexpr auto kEnumWords<ChangeKind> = std::to_array<EnumWord<ChangeKind>>({
    {ChangeKind::kNodes, "nodes"},
    {ChangeKind::kZone, "zone"},
    {ChangeKind::kPriority, "priority"},
    {ChangeKind::kAfter, "after"},
});

// A change with which the job starts now.
struct Counterfactual {
  ChangeKind change = ChangeKind::kNodes;
  std::string value;    // "7", "B", "high"; of kAfter: empty
  std::string message;  // "at priority high it starts now by interrupting job 812 (preemption cost 0.4 GPU-hours)"
  Trial trial;
};

struct Explanation {
  std::size_t ahead_count = 0;
  std::vector<JobId> ahead;  // the first of them
  TimePoint promised_by;     // 0: nothing is promised (planner.h says when)
  Estimate estimate;
  std::vector<Counterfactual> counterfactuals;
};

// Who is ahead of a queued job, what it is promised and when it may start; no counterfactuals, nothing is tried.
Explanation OutlookOf(const ClusterState& state, const Policy& policy, const Job& job, TimePoint now);

class WhatIf {
 public:
  // `state`: a copy (ClusterState::Of). `policy` outlives this.
  WhatIf(ClusterState state, const Policy& policy, TimePoint now);

  // What a submission of these now would come to, together: one trial each, in order. The specs are valid and feasible.
  struct Planned {
    Trial trial;
    Explanation explanation;  // without counterfactuals, of one that does not start now
  };
  std::vector<Planned> Plan(const std::string& user, const std::string& team, const std::vector<JobSpec>& specs);

  // Of a queued job.
  Explanation Explain(JobId job);

  // One planning decision about a queued job, with all that was tried for it, and what would start it.
  struct Traced {
    bool starts = false;
    std::vector<TraceStep> steps;
    std::size_t left_out = 0;
  };
  Traced Trace(JobId job);

  const ClusterState& state() const { return state_; }

 private:
  Trial Try(const Job& job);
  // What becomes of these jobs, which are rows of the copy. `trace`: may be null.
  std::vector<Trial> Decide(const std::vector<Job>& jobs, PassTrace* trace = nullptr) const;
  Trial Read(const ClusterState& state, const core::Plan& plan, const Job& job) const;
  void TryFewerNodes(const Job& job, std::vector<Counterfactual>& found);
  void TryZones(const Job& job, std::vector<Counterfactual>& found);
  void TryClasses(const Job& job, std::vector<Counterfactual>& found);

  ClusterState state_;
  const Policy& policy_;
  const TimePoint now_;
};

// "starts now on 4 nodes of zone A", "starts now by interrupting job 812 (preemption cost 0.4 GPU-hours)", ...
std::string StartText(const Trial& trial);

}  // namespace glim::core
