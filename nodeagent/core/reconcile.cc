#include "nodeagent/core/reconcile.h"

#include <algorithm>
#include <map>

namespace glim::nodeagent {
namespace {

// Whether the ranks have to be told `wanted` after having been told `raised`.
bool Differs(const Interrupt& wanted, const Interrupt& raised) {
  const Duration moved =
      wanted.deadline > raised.deadline ? wanted.deadline - raised.deadline : raised.deadline - wanted.deadline;
  return wanted.agreement != raised.agreement || wanted.stop_step != raised.stop_step ||
         wanted.no_agreement != raised.no_agreement || wanted.withdrawn != raised.withdrawn ||
         wanted.reason != raised.reason || wanted.preemptor != raised.preemptor || moved >= kDeadlineSlack;
}

void ReconcileInterrupt(const DesiredTask& desired, const ObservedTask& task, std::vector<Action>* actions) {
  if (!desired.interrupt) {
    // Listed and not interrupted: whatever was raised is no longer in force.
    if (!task.raised || task.raised->withdrawn) return;
    Interrupt down = *task.raised;
    down.withdrawn = true;
    actions->push_back({ActionKind::kUpdateInterrupt, task.key, down, {}, {}});
    return;
  }
  const Interrupt& wanted = *desired.interrupt;
  if (!task.raised || Differs(wanted, *task.raised)) {
    actions->push_back({ActionKind::kUpdateInterrupt, task.key, wanted, {}, {}});
  }
  if (!wanted.signal.empty() && !wanted.withdrawn && wanted.agreement > task.signalled_agreement && task.controllable &&
      task.phase == Phase::kRunning) {
    actions->push_back({ActionKind::kSendSignal, task.key, wanted, {}, {}});
  }
}

// The stop of one task. `order` is null when the scheduler no longer says so: what began goes on.
void ReconcileStop(const Stop* order, const ObservedTask& task, TimePoint now, std::vector<Action>* actions) {
  if (!task.controllable || (!order && !task.terminated)) return;
  TimePoint kill_at = task.kill_at;
  if (order) {
    const TimePoint asked = now + Milliseconds(std::max<std::int64_t>(0, order->term_ms));
    kill_at = task.terminated ? std::min(kill_at, asked) : asked;
  }
  const std::string reason = order ? order->reason : "";
  if (now >= kill_at) {
    const bool due = !task.killed_at || now >= task.killed_at + kKillRepeat;
    if (due) actions->push_back({ActionKind::kKill, task.key, {}, kill_at, reason});
  } else if (!task.terminated || kill_at < task.kill_at) {
    actions->push_back({ActionKind::kTerminate, task.key, {}, kill_at, reason});
  }
}

void ReconcileKnown(const DesiredTask* desired, const ObservedTask& task, TimePoint now, std::vector<Action>* actions) {
  if (!desired) {
    if (task.phase == Phase::kReleased) {
      actions->push_back({ActionKind::kForget, task.key, {}, {}, {}});
      return;
    }
    if (!task.orphan) actions->push_back({ActionKind::kMarkOrphan, task.key, {}, {}, {}});
  } else if (task.orphan) {
    actions->push_back({ActionKind::kClearOrphan, task.key, {}, {}, {}});
  }
  if (task.phase == Phase::kReleased) return;
  if (desired) ReconcileInterrupt(*desired, task, actions);
  ReconcileStop(desired && desired->stop ? &*desired->stop : nullptr, task, now, actions);
}

// Something runs here that the scheduler does not list, as after a store was put back from a backup. Nothing is started
// beside it: a node is one job's.
bool HasOrphans(const Desired& desired, const Observed& observed) {
  if (!desired.confirmed) return false;
  return std::any_of(observed.tasks.begin(), observed.tasks.end(), [&](const ObservedTask& task) {
    return task.phase != Phase::kReleased &&
           std::none_of(desired.tasks.begin(), desired.tasks.end(),
                        [&](const DesiredTask& wanted) { return wanted.key == task.key; });
  });
}

}  // namespace

std::string ToString(const TaskKey& key) {
  return std::to_string(key.job) + "." + std::to_string(key.attempt) + "." + std::to_string(key.index);
}

bool Accepts(const Revision& accepted, const Revision& incoming) { return incoming >= accepted; }

std::vector<Action> Reconcile(const Desired& desired, const Observed& observed, TimePoint now) {
  std::vector<Action> actions;
  if (!Accepts(observed.accepted, desired.revision)) {
    for (const ObservedTask& task : observed.tasks) {
      if (task.phase != Phase::kReleased) ReconcileStop(nullptr, task, now, &actions);
    }
    return actions;
  }
  const bool has_orphans = HasOrphans(desired, observed);
  std::map<TaskKey, std::pair<const DesiredTask*, const ObservedTask*>> pairs;
  for (const DesiredTask& task : desired.tasks) pairs[task.key].first = &task;
  for (const ObservedTask& task : observed.tasks) pairs[task.key].second = &task;
  for (const auto& [key, pair] : pairs) {
    const auto& [wanted, task] = pair;
    // Whether it is listed no more the scheduler says: the set on the disk may be older than the task, or none.
    const bool is_told = wanted || desired.confirmed;
    if (task && is_told) {
      ReconcileKnown(wanted, *task, now, &actions);
    } else if (task) {
      if (task->phase != Phase::kReleased) ReconcileStop(nullptr, *task, now, &actions);
    } else if (!desired.confirmed) {
      continue;
    } else if (wanted->launch && !wanted->stop && !has_orphans) {
      actions.push_back({ActionKind::kLaunch, key, {}, {}, {}});
    } else {
      actions.push_back({ActionKind::kReportLost, key, {}, {}, {}});
    }
  }
  return actions;
}

TimePoint NextWake(const Observed& observed) {
  TimePoint wake;
  for (const ObservedTask& task : observed.tasks) {
    if (task.phase == Phase::kReleased || !task.terminated || !task.controllable) continue;
    const TimePoint due = task.killed_at ? task.killed_at + kKillRepeat : task.kill_at;
    if (!wake || due < wake) wake = due;
  }
  return wake;
}

}  // namespace glim::nodeagent
