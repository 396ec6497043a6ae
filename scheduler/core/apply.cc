#include "scheduler/core/changes.h"
#include "scheduler/core/job_machine.h"
#include "scheduler/core/node_machine.h"
#include "scheduler/core/plan_apply.h"
#include "scheduler/core/scheduler_core.h"
#include "scheduler/core/timers.h"

namespace glim::core {
namespace {

struct Dispatch {
  Changes& changes;
  void operator()(const LeaderStarted&) const { ApplyLeaderStarted(changes); }
  void operator()(const Overslept&) const { ApplyOverslept(changes); }
  void operator()(const SubmitJobs& e) const { ApplySubmit(changes, e); }
  void operator()(const CancelJob& e) const { ApplyCancel(changes, e); }
  void operator()(const SuspendJob& e) const { ApplySuspend(changes, e); }
  void operator()(const ResumeJob& e) const { ApplyResume(changes, e); }
  void operator()(const NodeConnected& e) const { ApplyConnected(changes, e); }
  void operator()(const NodeDisconnected& e) const { ApplyDisconnected(changes, e); }
  void operator()(const NodeReported& e) const { ApplyReported(changes, e); }
  void operator()(const TimePassed&) const { ApplyTimePassed(changes); }
  void operator()(const ReturnNode& e) const { ApplyReturn(changes, e); }
  void operator()(const PolicyChanged& e) const {
    changes.Note("policy_reloaded", {}, {}, e.words);
    changes.MarkDirty();
  }
  void operator()(const PlanDecided& e) const { ApplyPlan(changes, e.plan); }
};

}  // namespace

Transition Apply(ClusterState& state, const Policy& policy, const Event& event) {
  Changes changes(state, policy, event.now);
  std::visit(Dispatch{changes}, event.what);
  return changes.Take();
}

Transition Apply(ClusterState& state, const Policy& policy, std::span<const Event> reports) {
  Changes changes(state, policy, reports.front().now);
  ApplyReports(changes, reports);
  return changes.Take();
}

}  // namespace glim::core
