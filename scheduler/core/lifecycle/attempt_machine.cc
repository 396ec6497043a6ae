#include "scheduler/core/lifecycle/attempt_machine.h"

#include <algorithm>

#include "scheduler/core/lifecycle/agreement_machine.h"
#include "scheduler/core/lifecycle/at_risk.h"
#include "scheduler/core/lifecycle/attempt_end.h"
#include "scheduler/core/lifecycle/attempt_progress.h"
#include "scheduler/core/lifecycle/attempt_start.h"
#include "scheduler/core/lifecycle/claims.h"
#include "scheduler/core/lifecycle/failed_rank.h"
#include "scheduler/core/lifecycle/hung_storage.h"
#include "scheduler/core/lifecycle/job_machine.h"
#include "scheduler/core/lifecycle/lemons.h"
#include "scheduler/core/lifecycle/node_labels.h"
#include "scheduler/core/lifecycle/save_failure.h"
#include "scheduler/core/lifecycle/save_place.h"
#include "scheduler/core/lifecycle/watchdog.h"
#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/model/planted.h"

namespace glim::core {
namespace {

void SeeRunning(Changes& changes, AttemptId id, const std::vector<const Task*>& tasks) {
  if (changes.attempt(id).state != AttemptState::kStarting) return;
  const bool all = std::all_of(tasks.begin(), tasks.end(), [](const Task* t) {
    return t->phase >= TaskPhase::kRunning && !t->start_failed && !t->lost;
  });
  if (!all) return;
  changes.EditAttempt(id, [&](Attempt& attempt) {
    attempt.state = AttemptState::kRunning;
    attempt.running_at = changes.now();
  });
  changes.EditJob(id.job, [](Job& job) {
    if (job.state == JobState::kStarting) job.state = JobState::kRunning;
    job.start_failures = 0;
  });
  ForgetSigns(changes, id);  // of its start
  StorageAnswers(changes, id);
  NoteCopies(changes, changes.attempt(id));
  const Attempt& running = changes.attempt(id);
  changes.Note(HistoryKind::kAttemptRunning, id, {}, "", {.took = running.running_at - running.queued_at});
}

// The first of the ranks that are known to have failed; EndAttempt looks again when all are.
void StopFailed(Changes& changes, AttemptId id, const std::vector<const Task*>& tasks) {
  const FailedRank failed = FirstFailure(tasks, {}, -1);
  StopAttempt(changes, id, StopCause::kRankFailed, DescribeFailure(changes.node(failed.task->node).name, failed));
  changes.EditAttempt(id, [&](Attempt& row) {
    row.exit_code = failed.rank->exit_code;
    row.failed_rank = static_cast<std::int32_t>(failed.rank->rank);
  });
}

// The first failure stops the rest; an answered interrupt is not a failure.
void SeeFailures(Changes& changes, AttemptId id, const std::vector<const Task*>& tasks) {
  const Attempt& attempt = changes.attempt(id);
  if (attempt.stop != StopCause::kNone) return;
  const Agreement* agreement = attempt.open_agreement();
  bool leaving = false;
  for (const Task* task : tasks) {
    for (const Rank& rank : task->ranks) leaving = leaving || rank.leaving;
  }
  const bool excused = leaving || (agreement && agreement->state == AgreementState::kSignalled);
  for (const Task* task : tasks) {
    const auto where = [&] { return " on node " + changes.node(task->node).name; };
    if (task->lost) {
      const NodeId node = task->node;
      StopAttempt(changes, id, StopCause::kNodeFailure,
                  "its task was lost" + where() + (task->message.empty() ? "" : ": " + task->message));
      return CountLoss(changes, node, id.job);
    }
    if (task->start_failed) {
      StopAttempt(changes, id, StopCause::kRankFailed, "could not start" + where() + ": " + task->message);
      return;
    }
    const bool failed = std::any_of(task->ranks.begin(), task->ranks.end(),
                                    [](const Rank& rank) { return rank.exited && rank.exit_code != 0; });
    if (failed && !excused) return StopFailed(changes, id, tasks);
  }
}

void GiveBack(Changes& changes, TaskId task, NodeId node) {
  const std::int64_t at_risk = TakeAtRisk(changes, node);
  changes.EditTask(task, [&](Task& row) { row.at_risk_gpu_ms = at_risk; });
  ReleaseNode(changes, node);
}

// Every rank has ended well: a daemon that one of them left behind must not keep the node.
void SeeFinished(Changes& changes, AttemptId id, const std::vector<const Task*>& tasks) {
  const Attempt& attempt = changes.attempt(id);
  const Agreement* agreement = attempt.open_agreement();
  if (attempt.stop != StopCause::kNone || (agreement && agreement->state == AgreementState::kSignalled)) return;
  for (const Task* task : tasks) {
    for (const Rank& rank : task->ranks) {
      if (!rank.exited || rank.exit_code != 0 || rank.leaving || rank.yielded) return;
    }
  }
  StopAttempt(changes, id, StopCause::kFinished, "every rank has ended");
}

}  // namespace

void WriteOffTask(Changes& changes, TaskId id, const std::string& why) {
  const Task* before = changes.state().FindTask(id);
  if (!before || before->phase == TaskPhase::kReleased) return;
  const NodeId node = before->node;
  changes.EditTask(id, [&](Task& task) {
    task.phase = TaskPhase::kReleased;
    task.lost = true;
    task.message = why;
    task.released_at = changes.now();
  });
  if (changes.node(node).claim) DropClaimOf(changes, node, why);
  const std::int64_t at_risk = TakeAtRisk(changes, node);
  changes.EditTask(id, [&](Task& task) { task.at_risk_gpu_ms = at_risk; });
  LinkHandover handover(changes, node);
  changes.EditNode(node, [&](Node& row) {
    row.holder = {};
    row.stale_tasks.push_back(id);
  });
  ApplyNextLabels(changes, node);
  changes.Sync(node);
  handover.Done();
}

void AdvanceAttempt(Changes& changes, AttemptId id) {
  const Attempt* start = changes.state().FindAttempt(id);
  if (!start || start->state == AttemptState::kEnded || start->state == AttemptState::kClaimed) return;
  AdvanceProgress(changes, id, TasksOf(changes.state(), id));
  SeeSaveFailures(changes, id, TasksOf(changes.state(), id));
  SeeRunning(changes, id, TasksOf(changes.state(), id));
  SeeFailures(changes, id, TasksOf(changes.state(), id));
  SeeFinished(changes, id, TasksOf(changes.state(), id));
  AdvanceAgreement(changes, id);
  bool all_released = true;
  for (const Task* task : TasksOf(changes.state(), id)) {
    if (task->phase != TaskPhase::kReleased) {
      all_released = false;
      continue;
    }
    const bool lost = Planted(PlantedBug::kLostRelease) && changes.node(task->node).claim;
    if (changes.node(task->node).holder == id && !lost) {
      GiveBack(changes, task->id, task->node);
    }
  }
  if (all_released) EndAttempt(changes, id);
}

}  // namespace glim::core
