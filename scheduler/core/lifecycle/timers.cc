#include "scheduler/core/lifecycle/timers.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "scheduler/core/lifecycle/agreement_machine.h"
#include "scheduler/core/lifecycle/attempt_machine.h"
#include "scheduler/core/lifecycle/attempt_start.h"
#include "scheduler/core/lifecycle/claim_review.h"
#include "scheduler/core/lifecycle/claims.h"
#include "scheduler/core/lifecycle/cordon.h"
#include "scheduler/core/lifecycle/heard.h"
#include "scheduler/core/lifecycle/identity_change.h"
#include "scheduler/core/lifecycle/job_machine.h"
#include "scheduler/core/lifecycle/learn.h"
#include "scheduler/core/lifecycle/lemons.h"
#include "scheduler/core/lifecycle/limit_timers.h"
#include "scheduler/core/lifecycle/quarantine.h"
#include "scheduler/core/lifecycle/reservations.h"
#include "scheduler/core/lifecycle/save_place.h"
#include "scheduler/core/lifecycle/silence.h"
#include "scheduler/core/lifecycle/start_verdict.h"
#include "scheduler/core/lifecycle/suspicion.h"
#include "scheduler/core/lifecycle/validation.h"
#include "scheduler/core/lifecycle/watchdog.h"
#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/model/save_reach.h"

namespace glim::core {
namespace {

TimePoint ReleaseBy(const Policy& policy, const Attempt& attempt) {
  return attempt.stop_at + policy.kill_after_term + policy.release_max;
}

TimePoint StartBy(const ClusterState& state, const Policy& policy, const Attempt& attempt) {
  return StartSince(state, attempt) + policy.start_max;
}

// A node that was taken out already is not judged by what does not go there.
bool IsToRelease(const ClusterState& state, const Task& task) {
  return task.phase != TaskPhase::kReleased && state.FindNode(task.node)->state == NodeState::kReady;
}

// A stopped task that has not gone: quarantine its node, unless nobody can tell because the agent is silent.
void JudgeRelease(Changes& changes, AttemptId id) {
  const Attempt& attempt = changes.attempt(id);
  const TimePoint due = ReleaseBy(changes.policy(), attempt);
  if (attempt.stop == StopCause::kNone || changes.now() < due) return;
  std::vector<TaskId> stuck;
  for (const Task* task : TasksOf(changes.state(), id)) {
    if (IsToRelease(changes.state(), *task) && IsHeardAt(changes.state(), changes.policy(), task->node, due)) {
      stuck.push_back(task->id);
    }
  }
  for (const TaskId task : stuck) Quarantine(changes, task);
}

// The program did not fail, it was never seen: its node hangs.
void EndSlowStart(Changes& changes, AttemptId id) {
  const std::vector<NodeId> slow = SlowToStart(changes.state(), changes.attempt(id));
  std::string why = "not every task was seen running in time";
  if (!slow.empty()) why += ": not on " + NamesOfNodes(changes.state().tables(), slow);
  for (const NodeId node : slow) Suspect(changes, node, "a task was not seen running there in time");
  StopAttempt(changes, id, StopCause::kStartTimeout, why);
}

void JudgeAttempt(Changes& changes, AttemptId id) {
  const Attempt& attempt = changes.attempt(id);
  const TimePoint start_by = StartBy(changes.state(), changes.policy(), attempt);
  if (attempt.state == AttemptState::kStarting && changes.now() >= start_by &&
      AreHeardAt(changes.state(), changes.policy(), attempt, start_by)) {
    EndSlowStart(changes, id);
  }
  AdvanceAgreement(changes, id);
  JudgeRelease(changes, id);
  AdvanceAttempt(changes, id);
}

void EndBackoffs(Changes& changes) {
  while (!changes.state().index().delayed.empty()) {
    const auto [at, job] = *changes.state().index().delayed.begin();
    if (at > changes.now()) return;
    changes.EditJob(job, [&](Job& row) {
      row.not_before = {};
      if (row.attempts == 0) row.queued_at = changes.now();  // its start_after has come: its wait begins
    });
  }
}

void Earliest(Deadline& best, TimePoint at, DeadlineKind kind, JobId job = {}) {
  if (at && (!best.at || at < best.at)) best = {at, kind, job};
}

void WakeOf(const ClusterState& state, const Policy& policy, const Attempt& attempt, Deadline& wake) {
  const JobId job = attempt.id.job;
  if (attempt.state == AttemptState::kStarting) {
    Earliest(wake, JudgedAt(state, policy, attempt, StartBy(state, policy, attempt)), DeadlineKind::kStart, job);
  }
  if (attempt.stop != StopCause::kNone) {
    const TimePoint due = ReleaseBy(policy, attempt);
    for (const Task* task : TasksOf(state, attempt.id)) {
      if (!IsToRelease(state, *task)) continue;
      Earliest(wake, JudgedAt(state, policy, task->node, due), DeadlineKind::kRelease, job);
    }
    return;
  }
  if (const Agreement* agreement = attempt.open_agreement()) {
    const TimePoint agree_by = JudgedAt(state, policy, attempt, agreement->agree_by);
    if (agreement->state == AgreementState::kNotifying) Earliest(wake, agree_by, DeadlineKind::kAgree, job);
    Earliest(wake, JudgedAt(state, policy, attempt, agreement->deadline), DeadlineKind::kInterrupt, job);
  }
}

const char* WhatIsDue(DeadlineKind kind) {
  switch (kind) {
    case DeadlineKind::kNone: return "";
    case DeadlineKind::kStart: return "must have been seen running on every node";
    case DeadlineKind::kAgree: return "must have agreed on its last step";
    case DeadlineKind::kInterrupt: return "must have left its nodes";
    case DeadlineKind::kRelease: return "must have given its nodes back";
    case DeadlineKind::kTimeLimit: return "a job's time limit";
    case DeadlineKind::kBackoff: return "may start again after a failure";
    case DeadlineKind::kStartAfter: return "may start: its start_after comes";
    case DeadlineKind::kSilence: return "nodes that are not heard are judged";
    case DeadlineKind::kToken: return "a token runs out";
    case DeadlineKind::kCordon: return "a cordon or a drain ends";
    case DeadlineKind::kReservation: return "a reservation begins or ends";
    case DeadlineKind::kStall: return "a job is looked at that may stand still, or leave its GPUs idle";
    case DeadlineKind::kLemon: return "failures of an unreliable node count no longer";
    case DeadlineKind::kValidation: return "a node is to be measured";
  }
  return "";
}

}  // namespace

void ApplyTimePassed(Changes& changes) {
  EndBackoffs(changes);
  SweepTokens(changes);
  JudgeSilence(changes);
  JudgeTimeLimits(changes);
  JudgeStalls(changes);
  EndCordons(changes);
  EndLemons(changes);
  JudgeValidations(changes);
  const std::vector<AttemptId> due(changes.state().index().attention.begin(), changes.state().index().attention.end());
  for (const AttemptId id : due) {
    const Attempt* attempt = changes.state().FindAttempt(id);
    if (attempt && attempt->state != AttemptState::kEnded && attempt->state != AttemptState::kClaimed) {
      JudgeAttempt(changes, id);
    }
  }
}

void ApplyOverslept(Changes& changes) {
  SchedulerWasAway(changes);
  changes.SetLeaderSince(changes.now());
  const std::vector<AttemptId> open(changes.state().index().attention.begin(), changes.state().index().attention.end());
  for (const AttemptId id : open) {
    GrantLeaderChange(changes, id);
    // The release bound counts from when the order can be heard.
    if (changes.attempt(id).stop != StopCause::kNone) {
      changes.EditAttempt(id, [&](Attempt& attempt) { attempt.stop_at = changes.now(); });
    }
  }
}

void ApplyLeaderStarted(Changes& changes) {
  ApplyOverslept(changes);
  LearnFromOldRows(changes);
  changes.MarkDirty();
  std::vector<NodeId> nodes;
  changes.state().tables().nodes.ForEach([&](NodeId id, const Node&) { nodes.push_back(id); });
  for (const NodeId id : nodes) {
    changes.liveness(id) = {0, changes.now()};
    if (changes.node(id).state != NodeState::kReady) continue;
    // Nobody is connected yet: what was ready is used again as soon as its agent is heard.
    changes.EditNode(id, [](Node& node) {
      node.state = NodeState::kSilent;
      node.message = "not heard yet by this scheduler";
    });
    changes.Note(HistoryKind::kNodeSilent, {}, id, changes.node(id).message);
  }
  SettleAllSaves(changes);
  ReviewValidations(changes);
  ReviewClaims(changes);    // its policy may be another one: a uid may be refused
  BeginCrossings(changes);  // its policy may be another one: the links may carry more now
  ReviewLemons(changes);    // its policy may be another one: other failures may count
  // An earlier version let them wait for ever.
  std::set<JobId> waiting;
  for (const auto& [other, dependants] : changes.state().index().dependants) {
    waiting.insert(dependants.begin(), dependants.end());
  }
  for (const JobId id : waiting) {
    if (changes.state().FindJob(id)) FailBroken(changes, id);
  }
}

Deadline NextDeadline(const ClusterState& state, const Policy& policy) {
  Deadline wake;
  for (const AttemptId id : state.index().attention) WakeOf(state, policy, *state.FindAttempt(id), wake);
  Earliest(wake, NextTimeLimit(state, policy), DeadlineKind::kTimeLimit);
  if (!state.index().delayed.empty()) {
    const auto& [at, job] = *state.index().delayed.begin();
    const bool first = state.FindJob(job)->attempts == 0;
    Earliest(wake, at, first ? DeadlineKind::kStartAfter : DeadlineKind::kBackoff, job);
  }
  Earliest(wake, NextSilence(state, policy), DeadlineKind::kSilence);
  Earliest(wake, NextSweep(state), DeadlineKind::kToken);
  Earliest(wake, NextCordonTimer(state, policy), DeadlineKind::kCordon);
  Earliest(wake, NextReservationTurn(state), DeadlineKind::kReservation);
  Earliest(wake, NextStall(state), DeadlineKind::kStall);
  Earliest(wake, NextLemonEnd(state, policy), DeadlineKind::kLemon);
  Earliest(wake, NextValidation(state, policy), DeadlineKind::kValidation);
  return wake;
}

std::string InWords(const Deadline& deadline) {
  const std::string what = WhatIsDue(deadline.kind);
  return deadline.job ? "job " + std::to_string(deadline.job.value) + " " + what : what;
}

TimePoint NextWake(const ClusterState& state, const Policy& policy) { return NextDeadline(state, policy).at; }

}  // namespace glim::core
