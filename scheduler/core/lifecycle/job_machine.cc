#include "scheduler/core/lifecycle/job_machine.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "scheduler/core/lifecycle/agreement_machine.h"
#include "scheduler/core/lifecycle/claims.h"
#include "scheduler/core/lifecycle/dependencies.h"
#include "scheduler/core/lifecycle/hardware_restart.h"
#include "scheduler/core/lifecycle/hung_storage.h"
#include "scheduler/core/lifecycle/job_rights.h"
#include "scheduler/core/lifecycle/learn.h"
#include "scheduler/core/lifecycle/restore_verdict.h"
#include "scheduler/core/lifecycle/save_place.h"
#include "scheduler/core/lifecycle/start_verdict.h"
#include "scheduler/core/lifecycle/suspicion.h"
#include "scheduler/core/lifecycle/yield.h"
#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/model/cordon.h"
#include "scheduler/core/model/first_start.h"
#include "scheduler/core/model/interrupt_terms.h"
#include "scheduler/core/model/time_limit.h"
#include "sdk/base/duration_text.h"

namespace glim::core {
namespace {

bool HasRun(const ClusterState& state, const Job& job) {
  if (job.earlier.ran) return true;
  for (std::uint32_t number = OldestKept(job.attempts); number <= job.attempts; ++number) {
    const Attempt* attempt = state.FindAttempt({job.id, number});
    if (attempt && attempt->running_at) return true;
  }
  return false;
}

// Without those that wait for it. `by_dependency`: because of its own `after`.
void EndRow(Changes& changes, JobId id, JobState state, const std::string& message, bool by_dependency = false) {
  const bool ran = HasRun(changes.state(), changes.job(id));
  changes.EditJob(id, [&](Job& job) {
    job.state = state;
    job.ended_unrun = !ran && (by_dependency || state == JobState::kCancelled);
    job.message = message;
    job.ended_at = changes.now();
    job.not_before = {};
    job.waits_for_save = {};
    job.save_in_memory = false;
  });
  const HistoryKind kind = state == JobState::kSucceeded ? HistoryKind::kJobSucceeded
                           : state == JobState::kFailed  ? HistoryKind::kJobFailed
                                                         : HistoryKind::kJobCancelled;
  changes.Note(kind, {id, changes.job(id).attempts}, {}, message);
  LearnLife(changes, changes.job(id));
}

// Those whose dependencies are broken fail, and so do those that wait for them in turn; a chain may be long. `ended`:
// gets them.
void FailAll(Changes& changes, std::vector<BrokenDependant> broken, std::vector<JobId>* ended) {
  for (std::size_t i = 0; i < broken.size(); ++i) {
    const JobId id = broken[i].job;
    if (IsTerminal(changes.job(id).state)) continue;
    EndRow(changes, id, JobState::kFailed, broken[i].message, true);
    ended->push_back(id);
    const std::vector<BrokenDependant> next = TellDependants(changes, id);
    broken.insert(broken.end(), next.begin(), next.end());
  }
}

void Finish(Changes& changes, JobId id, JobState state, const std::string& message) {
  EndRow(changes, id, state, message);
  std::vector<JobId> ended = {id};
  FailAll(changes, TellDependants(changes, id), &ended);
  ForgetFinished(changes, ended);
}

// `by`: who asked, if it was not its user, and why; empty: its user.
void Hold(Changes& changes, JobId id, const std::string& by = "") {
  changes.EditJob(id, [&](Job& job) {
    job.state = JobState::kHeld;
    job.not_before = {};
    job.waits_for_save = {};
    job.save_in_memory = false;
    job.message = "suspended by " + (by.empty() || by == job.user ? "its user" : by);
  });
  changes.Note(HistoryKind::kJobHeld, {id, changes.job(id).attempts}, {}, by.empty() ? "" : changes.job(id).message);
}

// Its user needs no name, and a reason needs one.
std::string HeldBy(const Job& job, const SuspendJob& event) {
  return event.user == job.user && event.reason.empty() ? "" : WithReason(event.user, event.reason);
}

constexpr char kSuspendedBy[] = "suspended by ";

std::string SuspendedBy(const Agreement* last) {
  const bool told = last && last->suspend && last->reason.starts_with(kSuspendedBy);
  return told ? last->reason.substr(sizeof kSuspendedBy - 1) : "";
}

void AfterInterrupt(Changes& changes, const Attempt& ended) {
  const Agreement* last = LeftBy(ended);
  const Job& before = changes.job(ended.id.job);
  const bool hold = before.state == JobState::kSuspending;
  const bool comes_first = ComesFirst(before, ended);
  const bool idle = IsYield(ended) && DidNothing(changes.policy(), before, ended);
  const bool costly = LostMoreThanItsQuantum(changes.policy(), before, ended);
  const Attempt* earlier = changes.state().FindAttempt({ended.id.job, ended.id.number - 1});
  TimePoint next = NextAfterYield(changes.policy(), before, ended, earlier);
  std::vector<NodeId> off;
  if (last && last->by_operator && last->elsewhere) off = ended.nodes;
  std::sort(off.begin(), off.end());
  changes.EditJob(ended.id.job, [&](Job& job) {
    job.swap_aborted = comes_first;
    job.moved_off = off;
    job.message = last && last->by_operator ? last->reason + "; " + ended.message : ended.message;
    if (costly) job.quantum_doublings = std::min(job.quantum_doublings + 1, kQuantumDoublingsMax);
    if (next > changes.now()) job.message = std::string(kLeftAgain) + WriteDuration(next - changes.now());
    if (!idle) return;
    ++job.idle_yields;
    next = std::max(next, changes.now() + YieldPause(*job.spec, job.idle_yields));
    job.message = "left by itself soon, and without a save: the next attempt waits for ";
    job.message += WriteDuration(next - changes.now());
  });
  if (hold) {
    Hold(changes, ended.id.job, SuspendedBy(last));
  } else {
    Requeue(changes, ended.id.job, next > changes.now() ? next : TimePoint{});
  }
}

// No other try would mend it; and no node is to blame, of the tries before either.
void FailForItsOwnFault(Changes& changes, JobId id, const StartVerdict& verdict) {
  for (const NodeId node : verdict.cleared) {
    Clear(changes, node);
  }
  Finish(changes, id, JobState::kFailed, verdict.message);
}

// Why a node is left out for a while.
std::string LastFailed(const char* what, AttemptId attempt, const std::string& message) {
  return std::string("its last ") + what + " (" + ToString(attempt) + ") failed: " + message;
}

void AfterStartFailure(Changes& changes, const Attempt& ended) {
  const StartVerdict verdict = JudgeStart(changes.state(), ended);
  if (verdict.jobs_fault) return FailForItsOwnFault(changes, ended.id.job, verdict);
  if (verdict.blameless) return Requeue(changes, ended.id.job, changes.now() + NoteHungStorage(changes, ended));
  const Policy& policy = changes.policy();
  std::uint32_t failures = 0;
  changes.EditJob(ended.id.job, [&](Job& job) {
    failures = ++job.start_failures;
    job.message = ended.message;
  });
  for (const Task* task : TasksOf(changes.state(), ended.id)) {
    if (task->start_failed && !task->disk_fault)
      Suspect(changes, task->node, LastFailed("start", ended.id, task->message));
  }
  if (failures >= policy.start_failures_max) {
    Finish(changes, ended.id.job, JobState::kFailed,
           "could not start " + std::to_string(failures) + " times: " + ended.message);
  } else {
    Requeue(changes, ended.id.job, changes.now() + policy.start_backoff);
  }
}

// Tried again until its save can be had, elsewhere if possible; a save that is the user's word alone has its end
// (restore_verdict.h).
void AfterRestoreFailure(Changes& changes, const Attempt& ended) {
  const Policy& policy = changes.policy();
  const std::uint32_t failures = changes.job(ended.id.job).restore_failures + 1;
  const RestoreVerdict verdict = JudgeRestore(changes.state(), ended, failures);
  changes.EditJob(ended.id.job, [&](Job& job) {
    job.restore_failures = failures;
    job.message = ended.message;
    job.moved_off = verdict.failed_on;
  });
  for (const NodeId node : verdict.suspected) Suspect(changes, node, LastFailed("restore", ended.id, ended.message));
  if (!verdict.jobs_fault.empty()) return Finish(changes, ended.id.job, JobState::kFailed, verdict.jobs_fault);
  if (verdict.take_older) GiveUpSave(changes, ended);
  Duration pause = policy.restore_backoff;
  for (std::uint32_t i = 1; i < failures && pause < policy.restore_backoff_max; ++i) pause = pause + pause;
  Requeue(changes, ended.id.job, changes.now() + std::min(pause, policy.restore_backoff_max));
}

void AfterHardware(Changes& changes, const Attempt& ended) {
  const HardwareRestart next = CountHardwareFailure(changes, ended);
  if (next.refused.empty()) {
    Requeue(changes, ended.id.job, next.not_before);
  } else {
    Finish(changes, ended.id.job, JobState::kFailed, ended.message + "; " + next.refused);
  }
}

void BeginWait(Changes& changes, JobId id, TimePoint since, TimePoint not_before) {
  changes.EditJob(id, [&](Job& job) {
    job.state = JobState::kQueued;
    job.queued_at = since;
    job.not_before = std::max(not_before, FirstStart(*job.spec, changes.now()));
    if (job.spec->priority != PriorityClass::kAuto) job.priority = job.spec->priority;  // low while it was borrowed
  });
}

// A job whose claims were dropped has not had its turn: its wait goes on, and with it what is promised about that.
TimePoint WaitsSince(const Changes& changes, JobId id) {
  const Attempt* newest = changes.state().FindAttempt({id, changes.job(id).attempts});
  return newest && newest->outcome == Outcome::kClaimDropped ? newest->queued_at : changes.now();
}

void NoteResumed(Changes& changes, const ResumeJob& event, bool before_it_left) {
  changes.Note(HistoryKind::kJobResumed, {event.job, changes.job(event.job).attempts}, {}, "",
               {.user = event.user, .before_it_left = before_it_left});
}

// It measures a node, once: after what comes to nothing another takes its place (validation.h).
void EndMeasuring(Changes& changes, const Attempt& ended) {
  const bool left = ended.outcome == Outcome::kCancelled || ended.outcome == Outcome::kInterrupted;
  const JobState state = ended.outcome == Outcome::kSucceeded ? JobState::kSucceeded
                         : left                               ? JobState::kCancelled
                                                              : JobState::kFailed;
  Finish(changes, ended.id.job, state, ended.message);
}

}  // namespace

std::string SuspendReason(const std::string& by) { return kSuspendedBy + by; }

void FailBroken(Changes& changes, JobId id) {
  std::vector<BrokenDependant> broken = BrokenBy(changes.state(), changes.job(id));
  if (broken.empty()) return;
  std::vector<JobId> ended;
  FailAll(changes, std::move(broken), &ended);
  ForgetFinished(changes, ended);
}

void Requeue(Changes& changes, JobId id, TimePoint not_before) {
  BeginWait(changes, id, WaitsSince(changes, id), not_before);
  changes.Note(HistoryKind::kJobQueued, {id, changes.job(id).attempts}, {}, changes.job(id).message);
  SettleSave(changes, id);
}

void CancelUnfinished(Changes& changes, JobId id, const std::string& why, bool now) {
  const Attempt* live = changes.state().LiveAttempt(changes.job(id));
  if (!live) return Finish(changes, id, JobState::kCancelled, why);
  if (live->state == AttemptState::kClaimed) {
    DropClaims(changes, live->id, "its job was cancelled");
    return Finish(changes, id, JobState::kCancelled, why);
  }
  const AttemptId attempt = live->id;
  changes.EditJob(id, [](Job& row) { row.state = JobState::kCancelling; });
  StopAttempt(changes, attempt, StopCause::kCancel, why);
  if (!now || changes.attempt(attempt).stop_now) return;
  changes.EditAttempt(attempt, [](Attempt& row) { row.stop_now = true; });
  changes.SyncAttempt(changes.attempt(attempt));
}

void ApplyCancel(Changes& changes, const CancelJob& event) {
  const Job* job = JobToChange(changes, event.job, event.user, event.by_right);
  if (!job) return;
  if (IsTerminal(job->state)) {
    RefuseState(changes, *job, "cancelled");
    return;
  }
  CancelUnfinished(changes, event.job, "cancelled by " + WithReason(event.user, event.reason), event.now);
  changes.reply().state = ToString(changes.job(event.job).state);
}

void ApplySuspend(Changes& changes, const SuspendJob& event) {
  const Job* job = JobToChange(changes, event.job, event.user, event.by_right);
  if (!job) return;
  const Attempt* live = changes.state().LiveAttempt(*job);
  if (IsTerminal(job->state) || job->state == JobState::kCancelling) {
    RefuseState(changes, *job, "suspended");
    return;
  }
  if (!live) {
    Hold(changes, event.job, HeldBy(*job, event));
  } else if (live->state == AttemptState::kClaimed) {
    DropClaims(changes, live->id, "its job was suspended");
    Hold(changes, event.job, HeldBy(*job, event));
  } else if (live->stop != StopCause::kNone) {
    changes.EditJob(event.job, [](Job& row) { row.state = JobState::kSuspending; });
  } else {
    const Agreement* agreement = live->open_agreement();
    const AttemptId preemptor = agreement ? agreement->preemptor : AttemptId{};
    OpenAgreement(changes, live->id, {preemptor, SuspendReason(WithReason(event.user, event.reason)), true});
  }
  changes.reply().state = ToString(changes.job(event.job).state);
}

void ApplyResume(Changes& changes, const ResumeJob& event) {
  const Job* job = JobToChange(changes, event.job, event.user, event.by_right);
  if (!job) return;
  if (job->state == JobState::kHeld) {
    BeginWait(changes, event.job, changes.now(), {});
    NoteResumed(changes, event, false);
    SettleSave(changes, event.job);
  } else if (job->state == JobState::kSuspending) {
    // It leaves all the same, and queues again instead of being held.
    const Attempt* live = changes.state().LiveAttempt(*job);
    if (live && live->open_agreement()) {
      changes.EditAttempt(live->id, [](Attempt& attempt) { attempt.open_agreement()->suspend = false; });
    }
    changes.EditJob(event.job, [](Job& row) { row.state = JobState::kInterrupting; });
    NoteResumed(changes, event, true);
  } else {
    RefuseState(changes, *job, "resumed");
    return;
  }
  changes.reply().state = ToString(changes.job(event.job).state);
}

void JobAfterAttempt(Changes& changes, const Attempt& ended) {
  const JobId id = ended.id.job;
  if (changes.job(id).validates) return EndMeasuring(changes, ended);
  LearnShare(changes, ended);
  const std::int64_t lost = ended.steps_lost;
  const bool did_something = ended.started_at && !DidNothing(changes.policy(), changes.job(id), ended);
  changes.EditJob(id, [&](Job& job) {
    job.steps_lost += lost;
    if (did_something) job.idle_yields = 0;
    job.swap_aborted = false;
    if (ended.started_at) job.moved_off.clear();
    if (ended.started_at) job.service = job.service + (ended.ended_at - ended.started_at);
  });
  const JobState state = changes.job(id).state;
  if (ended.outcome == Outcome::kSucceeded) {
    Finish(changes, id, JobState::kSucceeded, ended.message);
  } else if (state == JobState::kCancelling) {
    Finish(changes, id, JobState::kCancelled, ended.message);
  } else if (ended.outcome == Outcome::kTimeout || LimitUsedUp(changes.policy(), changes.job(id))) {
    const bool says_why = ended.outcome == Outcome::kTimeout || ended.outcome == Outcome::kFailed ||
                          ended.outcome == Outcome::kOutOfMemory;
    Finish(changes, id, JobState::kFailed, (says_why ? "" : LimitReached(changes.job(id)) + "; ") + ended.message);
  } else if (ended.outcome == Outcome::kInterrupted) {
    AfterInterrupt(changes, ended);
  } else if (state == JobState::kSuspending) {
    Hold(changes, id, SuspendedBy(ended.agreements.empty() ? nullptr : &ended.agreements.back()));
  } else if (ended.outcome == Outcome::kStartFailed) {
    AfterStartFailure(changes, ended);
  } else if (ended.outcome == Outcome::kRestoreFailed) {
    AfterRestoreFailure(changes, ended);
  } else if (!RestartCauseOf(ended.outcome).empty()) {
    AfterHardware(changes, ended);
  } else {
    Finish(changes, id, JobState::kFailed, ended.message);
  }
}

namespace {

// But for `newest`, and those whose verdict is yet to be taken in: several end in one batch of reports.
void ForgetMeasured(Changes& changes, JobId newest) {
  const auto& by_end = changes.state().index().kept.measured.by_end;
  const std::size_t most = changes.policy().finished_jobs_kept / kMeasuredShare;
  const auto goes = [&](const std::pair<TimePoint, JobId>& entry) {
    const Node* node = changes.state().FindNode(changes.job(entry.second).validates);
    return entry.second != newest && !(node && node->validation.job == entry.second);
  };
  while (by_end.size() > most) {
    const auto oldest = std::find_if(by_end.begin(), by_end.end(), goes);
    if (oldest == by_end.end()) return;
    changes.EraseJob(oldest->second);
  }
}

}  // namespace

void ForgetFinished(Changes& changes, const std::vector<JobId>& just_ended) {
  if (just_ended.empty()) return;
  const Policy& policy = changes.policy();
  const KeptJobs& kept = changes.state().index().kept;
  std::set<std::string> users;
  for (const JobId id : just_ended) users.insert(changes.job(id).user);
  const auto forget_oldest = [&](const EndedRows& rows) {
    auto oldest = rows.by_end.begin();
    if (oldest != rows.by_end.end() && oldest->second == just_ended.front()) ++oldest;
    if (oldest == rows.by_end.end()) return false;
    changes.EraseJob(oldest->second);
    return true;
  };
  for (const std::string& user : users) {
    const auto mine = kept.ended_by_user.find(user);
    const std::int64_t most = policy.unfinished_spec_bytes_per_user_max / kEndedShare;
    // One row at least stays, so the user's entry does: the newest, which `just_ended` has.
    while (mine->second.bytes > most && mine->second.by_end.size() > 1 && forget_oldest(mine->second)) {
    }
  }
  while ((kept.ended.by_end.size() > policy.finished_jobs_kept ||
          kept.ended.bytes > policy.unfinished_spec_bytes_max / kEndedShare) &&
         forget_oldest(kept.ended)) {
  }
  ForgetMeasured(changes, just_ended.front());
}

}  // namespace glim::core
