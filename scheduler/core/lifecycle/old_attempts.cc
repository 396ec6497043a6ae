#include "scheduler/core/lifecycle/old_attempts.h"

#include <utility>
#include <vector>

#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/model/waited.h"

namespace glim::core {
namespace {

void Remember(const Changes& changes, const Attempt& attempt, EarlierAttempts& earlier) {
  ++earlier.count;
  if (!earlier.started_at) earlier.started_at = attempt.started_at;
  earlier.ran = earlier.ran || attempt.running_at;
  const Attempt* next = changes.state().FindAttempt({attempt.id.job, attempt.id.number + 1});
  earlier.waited = earlier.waited + WaitedFor(attempt, next ? next->queued_at : TimePoint{});
  for (const NodeId id : attempt.nodes) {
    const Node* node = changes.state().FindNode(id);
    earlier.simulated_gpus = earlier.simulated_gpus || (node && node->labels.simulated_gpus);
  }
}

std::vector<EndedTasks> Summary(const std::vector<const Task*>& tasks) {
  std::vector<EndedTasks> runs;
  for (const Task* task : tasks) {
    EndedTasks one{1, ExitIsKnown(*task) ? task->exit_code : -1, LeastStep(*task), task->message};
    if (!runs.empty() && runs.back().exit_code == one.exit_code && runs.back().step == one.step &&
        runs.back().message == one.message) {
      ++runs.back().count;
    } else if (runs.size() == kEndedTasksKept) {
      break;
    } else {
      runs.push_back(std::move(one));
    }
  }
  return runs;
}

// How they ended stays: whoever looks for why an interrupt went wrong looks when the next attempt runs.
void EraseTasksOf(Changes& changes, AttemptId id) {
  const std::vector<const Task*> tasks = TasksOf(changes.state(), id);
  if (tasks.empty()) return;
  std::vector<EndedTasks> summary = Summary(tasks);
  changes.EditAttempt(id, [&](Attempt& row) { row.ended_tasks = std::move(summary); });
  changes.EraseTasks(id);
}

}  // namespace

void ForgetOldAttempts(Changes& changes, JobId job) {
  const std::uint32_t newest = changes.job(job).attempts;
  std::vector<AttemptId> ended;  // ascending
  changes.state().tables().attempts.VisitFrom({job, 0}, [&](const AttemptId& id, const Attempt& row) {
    if (id.job != job) return false;
    if (id.number < newest && row.state == AttemptState::kEnded) ended.push_back(id);
    return true;
  });
  bool asked_about = true;
  for (auto id = ended.rbegin(); id != ended.rend(); ++id) {
    const Attempt& attempt = changes.attempt(*id);
    asked_about =
        asked_about && (attempt.outcome == Outcome::kStartFailed || attempt.outcome == Outcome::kRestoreFailed ||
                        attempt.outcome == Outcome::kClaimDropped);
    if (!asked_about) EraseTasksOf(changes, *id);
  }
  if (ended.size() <= kAttemptsKept) return;
  ended.resize(ended.size() - kAttemptsKept);
  changes.EditJob(job, [&](Job& row) {
    for (const AttemptId& id : ended) Remember(changes, changes.attempt(id), row.earlier);
  });
  for (const AttemptId& id : ended) changes.EraseAttempt(id);
}

}  // namespace glim::core
