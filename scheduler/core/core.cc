#include "scheduler/core/core.h"

#include <algorithm>
#include <iterator>

#include "scheduler/core/lifecycle/accounts_change.h"
#include "scheduler/core/lifecycle/budgets.h"
#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/lifecycle/claim_review.h"
#include "scheduler/core/lifecycle/cordon.h"
#include "scheduler/core/lifecycle/identity_change.h"
#include "scheduler/core/lifecycle/job_machine.h"
#include "scheduler/core/lifecycle/job_submit.h"
#include "scheduler/core/lifecycle/lemon_cordon.h"
#include "scheduler/core/lifecycle/lemons.h"
#include "scheduler/core/lifecycle/node_machine.h"
#include "scheduler/core/lifecycle/node_refused.h"
#include "scheduler/core/lifecycle/node_remove.h"
#include "scheduler/core/lifecycle/notify_rules.h"
#include "scheduler/core/lifecycle/operate_jobs.h"
#include "scheduler/core/lifecycle/plan_apply.h"
#include "scheduler/core/lifecycle/reservations.h"
#include "scheduler/core/lifecycle/saves_removed.h"
#include "scheduler/core/lifecycle/silence.h"
#include "scheduler/core/lifecycle/stored_labels.h"
#include "scheduler/core/lifecycle/timers.h"
#include "scheduler/core/lifecycle/update_job.h"
#include "scheduler/core/lifecycle/validation.h"
#include "scheduler/core/lifecycle/validation_asked.h"

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
  void operator()(const NodeRefused& e) const { ApplyRefused(changes, e); }
  void operator()(const NodeDisconnected& e) const { ApplyDisconnected(changes, e); }
  void operator()(const NodeReported& e) const { ApplyReported(changes, e); }
  void operator()(const TimePassed&) const { ApplyTimePassed(changes); }
  void operator()(const ReturnNode& e) const { ApplyReturn(changes, e); }
  void operator()(const RemoveNode& e) const { ApplyRemove(changes, e); }
  void operator()(const ResolveOutage&) const { ApplyResolveOutage(changes); }
  void operator()(const PolicyChanged& e) const {
    changes.Note(HistoryKind::kPolicyReloaded, {}, {}, e.words);
    ReviewValidations(changes);
    ReviewClaims(changes);
    ReviewLemons(changes);
    changes.MarkDirty();
  }
  void operator()(const ChangeAccounts& e) const { ApplyAccounts(changes, e); }
  void operator()(const ChangeIdentity& e) const { ApplyIdentity(changes, e); }
  void operator()(const TokensUsed& e) const { ApplyTokensUsed(changes, e); }
  void operator()(const LabelNode& e) const { ApplyLabel(changes, e); }
  void operator()(const SavesRemoved& e) const { NoteSavesRemoved(changes, e); }
  void operator()(const CordonNode& e) const { ApplyCordon(changes, e); }
  void operator()(const UncordonNode& e) const { ApplyUncordon(changes, e); }
  void operator()(const ValidateNode& e) const { ApplyValidate(changes, e); }
  void operator()(const SetJobPriority& e) const { ApplySetPriority(changes, e); }
  void operator()(const UpdateJob& e) const { ApplyUpdate(changes, e); }
  void operator()(const MoveJob& e) const { ApplyMove(changes, e); }
  void operator()(const CancelUserJobs& e) const { ApplyCancelUser(changes, e); }
  void operator()(const NotifySkipped& e) const { NoteNotifySkipped(changes, e); }
  void operator()(const SetReservation& e) const { ApplySetReservation(changes, e); }
  void operator()(const RemoveReservation& e) const { ApplyRemoveReservation(changes, e); }
  void operator()(const SetBudget& e) const { ApplySetBudget(changes, e); }
  void operator()(const PlanDecided& e) const {
    ApplyPlan(changes, e.plan);
    if (e.plan.starts.empty()) BeginValidations(changes);
  }
};

void Append(Transition&& transition, std::vector<Mutation>& mutations, DriveResult& result) {
  std::move(transition.mutations.begin(), transition.mutations.end(), std::back_inserter(mutations));
  result.sync.merge(transition.sync);
}

// How many events in front are reports of nodes at the same time.
std::size_t ReportsFrom(std::span<const Event> events) {
  const auto end = std::find_if(events.begin(), events.end(), [&](const Event& e) {
    return e.now != events.front().now || !std::holds_alternative<NodeReported>(e.what);
  });
  return static_cast<std::size_t>(end - events.begin());
}

// A time that a plan waits for counts as a deadline of the state.
void WakeFor(TimePoint look_again, TimePoint& wake) {
  if (look_again && (!wake || look_again < wake)) wake = look_again;
}

}  // namespace

Transition Apply(ClusterState& state, const Policy& policy, const Event& event) {
  Changes changes(state, policy, event.now);
  TurnReservations(changes);
  std::visit(Dispatch{changes}, event.what);
  TakeOutLemons(changes);
  AdvanceDrains(changes);
  SettleValidations(changes);
  return changes.Take();
}

Transition Apply(ClusterState& state, const Policy& policy, std::span<const Event> reports) {
  Changes changes(state, policy, reports.front().now);
  TurnReservations(changes);
  ApplyReports(changes, reports);
  TakeOutLemons(changes);
  AdvanceDrains(changes);
  SettleValidations(changes);
  return changes.Take();
}

Decided Decide(ClusterState& state, const Policy& policy, std::span<const Event> batch, PlanFn make_plan) {
  Decided decided;
  auto& [mutations, result] = decided;
  if (batch.empty()) {
    result.wake_at = NextWake(state, policy);
    return decided;
  }
  const TimePoint first = batch.front().now;
  if (state.promised_wake && first > state.promised_wake + policy.oversleep_max) {
    Append(Apply(state, policy, Event{0, first, Overslept{}}), mutations, result);
  }
  for (std::size_t i = 0; i < batch.size();) {
    const Event& event = batch[i];
    if (state.look_again && event.now >= state.look_again) {
      state.look_again = {};
      state.dirty = true;
    }
    const std::size_t reports = ReportsFrom(batch.subspan(i));
    Transition transition = reports > 1 ? Apply(state, policy, batch.subspan(i, reports)) : Apply(state, policy, event);
    result.replies.push_back(std::move(transition.reply));
    result.replies.resize(result.replies.size() + std::max<std::size_t>(reports, 1) - 1);  // a report has no answer
    Append(std::move(transition), mutations, result);
    i += std::max<std::size_t>(reports, 1);
  }
  for (int pass = 0; pass < kPassesMax && state.dirty; ++pass) {
    const TimePoint now = batch.back().now;
    Plan plan = make_plan(state, policy, now);
    bool last = plan.starts.empty() && plan.reserved.empty() && plan.leaves.empty();
    const std::size_t measuring = state.index().measuring.size();
    state.dirty = false;
    state.look_again = plan.look_again;
    Append(Apply(state, policy, Event{0, now, PlanDecided{std::move(plan)}}), mutations, result);
    result.planned = true;
    last = last && state.index().measuring.size() == measuring;  // a node that is measured is free no more
    if (last) break;
  }
  result.mutations = mutations.size();
  result.wake_at = NextWake(state, policy);
  WakeFor(state.look_again, result.wake_at);
  // What was due before is due now: a moment in the past would look as if nobody had listened since then.
  if (result.wake_at) result.wake_at = std::max(result.wake_at, batch.back().now);
  state.promised_wake = result.wake_at;
  return decided;
}

DriveResult Drive(ClusterState& state, const Policy& policy, std::span<const Event> batch, const CommitFn& commit,
                  PlanFn make_plan) {
  Decided decided = Decide(state, policy, batch, make_plan);
  if (!decided.mutations.empty()) decided.result.commit = commit(decided.mutations);
  return std::move(decided.result);
}

}  // namespace glim::core
