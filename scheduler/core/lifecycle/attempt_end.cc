#include "scheduler/core/lifecycle/attempt_end.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "scheduler/core/lifecycle/agreement_machine.h"
#include "scheduler/core/lifecycle/at_risk.h"
#include "scheduler/core/lifecycle/attempt_progress.h"
#include "scheduler/core/lifecycle/claims.h"
#include "scheduler/core/lifecycle/failed_rank.h"
#include "scheduler/core/lifecycle/health_blame.h"
#include "scheduler/core/lifecycle/job_machine.h"
#include "scheduler/core/lifecycle/lemons.h"
#include "scheduler/core/lifecycle/watchdog.h"
#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/model/planted.h"
#include "scheduler/core/model/save_reach.h"
#include "scheduler/core/model/time_limit.h"

namespace glim::core {
namespace {

struct Ending {
  Outcome outcome = Outcome::kNone;
  SaveResult save = SaveResult::kNone;
  std::int32_t exit_code = 0;
};

// What the tasks' ends say together.
struct Exits {
  bool any_leaving = false;
  bool any_yielded = false;
  bool any_start_failed = false;
  bool any_save_missing = false;
  bool any_restore_failed = false;  // a program could not go on from its save
  bool copy_not_over = false;       // some task had not got its save yet
  bool all_zero = true;
  std::int32_t first_code = 0;
};

Exits CollectExits(const Attempt& attempt, const std::vector<const Task*>& tasks) {
  Exits exits;
  for (const Task* task : tasks) {
    exits.any_start_failed |= task->start_failed;
    exits.any_save_missing |= task->save_missing;
    exits.copy_not_over |= !IsShared(attempt.base) && !HasWhole(attempt.base, task->node) && task->copy_time.ms == 0;
    exits.all_zero &= task->exit_code == 0 && !task->lost && !task->start_failed;
    if (exits.first_code == 0) exits.first_code = task->exit_code;
    for (const Rank& rank : task->ranks) {
      exits.any_leaving |= rank.leaving;
      exits.any_yielded |= rank.yielded;
      exits.any_restore_failed |= !rank.restore_failed.empty();
    }
  }
  return exits;
}

Ending LeftByItself(bool saved) {
  return {Outcome::kInterrupted, saved ? SaveResult::kSaved : SaveResult::kLeftUnsaved, 0};
}

// Productive time since the last durable save is lost with a kill, a failure or a leave without saving; what the user
// chose to end is not a loss.
bool LosesAtRisk(const Ending& ending) {
  switch (ending.outcome) {
    case Outcome::kSucceeded:
    case Outcome::kCancelled: return false;
    case Outcome::kInterrupted:
    case Outcome::kTimeout: return ending.save != SaveResult::kSaved;
    default: return true;
  }
}

// Whoever trained on without its save, or had none, fails by itself.
bool MovedOn(const Attempt& attempt) {
  return attempt.base.step < 0 || attempt.last_step > attempt.base.step || attempt.durable_step >= 0;
}

bool EndsSaved(const Attempt& attempt) {
  return attempt.durable_step >= 0 && attempt.durable_step >= attempt.last_step;
}

Ending Classify(const Attempt& attempt, const Exits& exits) {
  const Agreement* agreement = attempt.open_agreement();
  switch (attempt.stop) {
    case StopCause::kCancel:
    case StopCause::kSuspend: return {Outcome::kCancelled, SaveResult::kNone, exits.first_code};
    case StopCause::kStartTimeout:
      return {exits.copy_not_over ? Outcome::kRestoreFailed : Outcome::kStartFailed, SaveResult::kNone, 0};
    case StopCause::kNodeFailure: return {Outcome::kNodeFailure, SaveResult::kNone, 0};
    case StopCause::kGpuFailure: return {Outcome::kGpuFailure, SaveResult::kNone, 0};
    case StopCause::kNetwork: return {Outcome::kNetwork, SaveResult::kNone, 0};
    case StopCause::kHang: return {Outcome::kHang, SaveResult::kNone, 0};
    case StopCause::kDeadline:  // killed, whatever it had saved before: steps_lost says what that was worth
      return {Outcome::kInterrupted, SaveResult::kKilled, 0};
    case StopCause::kRankFailed:
      if (exits.any_save_missing || (exits.any_restore_failed && !MovedOn(attempt)))
        return {Outcome::kRestoreFailed, SaveResult::kNone, exits.first_code};
      return {exits.any_start_failed ? Outcome::kStartFailed : Outcome::kFailed, SaveResult::kNone, exits.first_code};
    case StopCause::kFinished: return {Outcome::kSucceeded, SaveResult::kNone, 0};
    case StopCause::kNone: break;
  }
  // Who leaves, and has not yielded, was asked by an agreement that was withdrawn, or that the store has forgotten.
  const bool forgotten = exits.any_leaving && !Planted(PlantedBug::kWithdrawnTooLate);
  if ((exits.any_yielded || forgotten) && !agreement) return LeftByItself(EndsSaved(attempt));
  if (exits.any_leaving && agreement) {
    // An agreement that was withdrawn too late came after the save that answered the first one.
    const bool reopened = agreement->swap_aborted && !agreement->preemptor;
    return LeftByItself(agreement->saved_at || (reopened && EndsSaved(attempt)));
  }
  if (agreement && agreement->state == AgreementState::kSignalled)
    return LeftByItself(static_cast<bool>(agreement->saved_at));
  if (exits.all_zero) return {Outcome::kSucceeded, SaveResult::kNone, 0};
  return {Outcome::kFailed, SaveResult::kNone, exits.first_code};
}

std::int64_t StepsLost(const Attempt& attempt, Outcome outcome) {
  if (outcome == Outcome::kSucceeded || attempt.last_step < 0) return 0;
  const std::int64_t kept = std::max(attempt.base.step, attempt.durable_step);
  return std::max<std::int64_t>(0, attempt.last_step - kept) + Planted(PlantedBug::kStepBegunIsLost);
}

bool ReportsSteps(const Attempt& attempt) {
  return attempt.last_step >= 0 || attempt.durable_step >= 0 || attempt.base.step >= 0;
}

std::string Left(SaveResult save) {
  if (save == SaveResult::kSaved) return "saved and left";
  return save == SaveResult::kLeftUnsaved ? "left without saving" : "killed";
}

// A job that reports none may have lost much, and nobody can count it.
std::string LostInWords(const Attempt& attempt) {
  if (!ReportsSteps(attempt)) return "it reported no steps";
  return std::to_string(attempt.steps_lost) + (attempt.steps_lost == 1 ? " step lost" : " steps lost");
}

// Glim knows of no save of a program that never speaks with it: it may have made one.
std::string LeftInWords(SaveResult save, const Attempt& attempt) {
  if (save == SaveResult::kLeftUnsaved && !ReportsSteps(attempt)) return "left, and reported neither steps nor a save";
  return Left(save) + ", " + LostInWords(attempt);
}

// Of an attempt that has succeeded: docs/decisions/0008-what-is-left-behind-is-stopped.md.
std::string LeftBehindInWords(const std::vector<const Task*>& tasks) {
  std::uint32_t count = 0;
  std::string names;
  for (const Task* task : tasks) {
    count += task->left_behind;
    if (names.empty()) names = task->left_names;
  }
  if (count == 0) return "";
  return (count == 1 ? "a process" : std::to_string(count) + " processes") + " that its ranks had left running " +
         (count == 1 ? "was" : "were") + " stopped at its end (" + names +
         "): end the script with `wait` if it is to wait for them";
}

// `attempt` has its steps_lost already.
std::string Describe(const Ending& ending, const Attempt& attempt, const std::string& limit) {
  const std::string& stop_message = attempt.message;
  const std::string why = attempt.failed_rank >= 0 ? stop_message : "";
  const std::int64_t saved = attempt.durable_step;
  const std::string steps = LostInWords(attempt);
  switch (ending.outcome) {
    case Outcome::kInterrupted: return LeftInWords(ending.save, attempt) + (why.empty() ? "" : "; " + why);
    case Outcome::kTimeout:
      return limit + "; " +
             (ending.save == SaveResult::kSaved ? "saved at step " + std::to_string(saved)
                                                : LeftInWords(ending.save, attempt) + (why.empty() ? "" : "; " + why));
    case Outcome::kSucceeded: return stop_message;
    case Outcome::kNodeFailure:
    case Outcome::kGpuFailure:
    case Outcome::kNetwork:
    case Outcome::kHang: return stop_message + "; " + steps;
    case Outcome::kFailed:
      return stop_message.empty() ? "exited with code " + std::to_string(ending.exit_code) : stop_message;
    default: return stop_message;
  }
}

// Now that every rank has ended: another node's rank may have failed before the one that was heard of first.
void NameFirstFailure(Changes& changes, AttemptId id, const std::vector<const Task*>& tasks) {
  const Attempt& attempt = changes.attempt(id);
  const FailedRank failed = FirstFailure(tasks, attempt.stop_at, attempt.failed_rank);
  if (!failed) return;
  const std::string message = DescribeFailure(changes.node(failed.task->node).name, failed);
  changes.EditAttempt(id, [&](Attempt& row) {
    row.failed_rank = static_cast<std::int32_t>(failed.rank->rank);
    row.exit_code = failed.rank->exit_code;
    row.message = message;
  });
}

// It was asked by a signal, and a rank has ended with an error: no word of it that it has saved need be true. A death
// by that very signal is what happens to a program that does not handle it, and a shell tells of that as its own code.
void NameErrorAfterSignal(Changes& changes, AttemptId id, const std::vector<const Task*>& tasks) {
  const FailedRank failed = FirstFailure(tasks, {}, -1);
  if (!failed || failed.rank->exit_code > 128) return;
  const std::string message = DescribeFailure(changes.node(failed.task->node).name, failed);
  changes.EditAttempt(id, [&](Attempt& row) {
    row.failed_rank = static_cast<std::int32_t>(failed.rank->rank);
    row.exit_code = failed.rank->exit_code;
    row.message = message;
  });
}

// Exits look alike, whoever is to blame.
FailureCause FindCause(Changes& changes, AttemptId id, Ending& ending) {
  const Attempt& attempt = changes.attempt(id);
  FailureCause cause = CauseOfFailure(changes.state(), changes.policy(), attempt, changes.now());
  if (cause.why.empty()) return cause;
  if (cause.outcome != Outcome::kNone) ending.outcome = cause.outcome;
  changes.EditAttempt(id, [&](Attempt& row) {
    if (row.message.empty()) row.message = "exited with code " + std::to_string(ending.exit_code);
    row.message += "; " + cause.why;
  });
  if (cause.node && cause.outcome != Outcome::kOutOfMemory) LeaveOut(changes, cause.node, cause.why);
  return cause;
}

}  // namespace

void DropClaimOf(Changes& changes, NodeId node, const std::string& why) {
  const AttemptId claimant = changes.node(node).claim;
  if (!claimant) return;
  DropClaims(changes, claimant, why);
  Requeue(changes, claimant.job, {});
}

void EndAttempt(Changes& changes, AttemptId id) {
  const std::vector<const Task*> tasks = TasksOf(changes.state(), id);
  Ending ending = Classify(changes.attempt(id), CollectExits(changes.attempt(id), tasks));
  const Job& job = changes.job(id.job);
  const bool at_limit = EndsAtLimit(changes.policy(), job, changes.attempt(id), changes.now());
  if (ending.outcome == Outcome::kInterrupted && at_limit) ending.outcome = Outcome::kTimeout;
  const std::string limit = LimitReached(job);
  FailureCause cause;
  if (ending.outcome == Outcome::kFailed) {
    NameFirstFailure(changes, id, tasks);
    cause = FindCause(changes, id, ending);
  }
  const Agreement* const open = changes.attempt(id).open_agreement();
  const std::optional<Agreement> was = open ? std::optional(*open) : std::nullopt;  // the row is edited below
  const bool by_signal = was && was->state == AgreementState::kSignalled;
  if (by_signal && changes.attempt(id).stop == StopCause::kNone) NameErrorAfterSignal(changes, id, tasks);
  if (ending.outcome == Outcome::kSucceeded) {
    changes.EditAttempt(id, [&](Attempt& row) { row.message = LeftBehindInWords(tasks); });
  }
  changes.EditAttempt(id, [&](Attempt& attempt) {
    attempt.steps_lost = StepsLost(attempt, ending.outcome);
    attempt.outcome = ending.outcome;
    attempt.save = ending.save;
    if (attempt.exit_code == 0) attempt.exit_code = ending.exit_code;  // else: of the rank that failed first
    attempt.message = Describe(ending, attempt, limit);
    attempt.ended_at = changes.now();
    attempt.state = AttemptState::kEnded;
    if (Agreement* agreement = attempt.open_agreement()) {
      agreement->released_at = changes.now();
      if (!agreement->left_at) agreement->left_at = changes.now();
      agreement->state = AgreementState::kEnded;
    }
  });
  ForgetShards(changes, id);
  ForgetSigns(changes, id);
  if (was) {
    NoteLeft(changes, changes.attempt(id), *was);
    changes.EditJob(id.job, [&](Job& row) {
      const Duration took = changes.now() - was->requested_at;
      row.leave_time = {row.leave_time.ms + (took.ms - row.leave_time.ms) / static_cast<std::int64_t>(++row.leaves)};
    });
  }
  std::int64_t lost_gpu_ms = 0;
  if (LosesAtRisk(ending)) {
    for (const Task* task : TasksOf(changes.state(), id)) {
      LoseGpuMs(changes, task->node, id.job, task->at_risk_gpu_ms);
      lost_gpu_ms += task->at_risk_gpu_ms;
    }
  }
  const Attempt ended = changes.attempt(id);
  changes.Note(HistoryKind::kAttemptEnded, id, {}, ended.message,
               {.outcome = ended.outcome, .code = ended.steps_lost, .value = lost_gpu_ms});
  JobAfterAttempt(changes, ended);
  const bool by_node = cause.node && cause.outcome != Outcome::kNone && cause.outcome != Outcome::kOutOfMemory;
  if (by_node) CountFailure(changes, cause.node, id.job, cause.outcome, cause.device);
}

}  // namespace glim::core
