#include "scheduler/core/lifecycle/watchdog.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/lifecycle/claims.h"
#include "scheduler/core/lifecycle/idle_gpus.h"
#include "scheduler/core/lifecycle/lemons.h"
#include "scheduler/core/lifecycle/stall_evidence.h"
#include "scheduler/core/lifecycle/suspicion.h"
#include "scheduler/core/lifecycle/validation_need.h"
#include "scheduler/core/lifecycle/watch_rules.h"
#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/model/history_words.h"
#include "scheduler/core/model/planted.h"

namespace glim::core {
namespace {

Duration LimitOf(const Changes& changes, AttemptId id, const Watched& watched) {
  const Job& job = changes.job(id.job);
  return NoProgressLimit(changes.policy(), job, std::max(job.longest_gap, watched.longest));
}

// When it is judged if no sign comes before.
TimePoint LimitAt(const Changes& changes, AttemptId id, const Watched& watched) {
  return std::max(watched.last + LimitOf(changes, id, watched), RestoreBy(changes, changes.attempt(id)));
}

// Whether it had got its save by its last sign: how long a restore takes is no measure of what comes after it.
bool HadBegun(const Attempt& attempt) {
  return attempt.base.step < 0 || attempt.last_step >= 0 || attempt.durable_step >= 0;
}

// Whether signs of it would be heard of: its agents tell of output, or its ranks of steps.
bool CanTell(const Attempt& attempt, const Watched& watched) { return watched.told || attempt.last_step >= 0; }

// Steps may be far apart, and output comes when it comes: who says nothing of steps is told apart by its spec alone.
bool RestartsOnHang(const Job& job, const Attempt& attempt) {
  const std::vector<std::string>& on = job.spec->restart_on;
  if (std::find(on.begin(), on.end(), "hang") == on.end()) return false;
  return attempt.last_step >= 0 || job.spec->no_progress.ms > 0;
}

// The job's row keeps what its limit follows, and not each second by which that grows.
void LearnGap(Changes& changes, JobId id, Duration gap) {
  const HealthPolicy& health = changes.policy().health;
  const bool matters = gap * health.no_progress_gaps > health.no_progress_min;
  if (!matters || gap.ms <= changes.job(id).longest_gap.ms + changes.job(id).longest_gap.ms / 4) return;
  changes.EditJob(id, [&](Job& job) { job.longest_gap = gap; });
}

void EndStall(Changes& changes, AttemptId id, Duration silent) {
  changes.watch().attempts.at(id).answers.clear();
  changes.watch().attempts.at(id).answer_by = {};
  const bool asked = AsksForEvidence(changes.attempt(id));
  changes.EditAttempt(id, [](Attempt& attempt) {
    attempt.stalled_since = {};
    attempt.evidence.clear();
  });
  changes.Note(HistoryKind::kAttemptStallOver, id, {}, "", {.took = silent});
  if (asked) changes.SyncAttempt(changes.attempt(id));
}

void SeeSign(Changes& changes, AttemptId id, Watched& watched) {
  const Duration gap = changes.now() - watched.last;
  const Attempt& attempt = changes.attempt(id);
  const bool counts = CanTell(attempt, watched) && HadBegun(attempt) && MayBeJudged(changes.state(), attempt);
  watched.last = changes.now();
  if (counts) watched.longest = std::max(watched.longest, gap);
  if (counts) LearnGap(changes, id.job, gap);
  const TimePoint since = changes.attempt(id).stalled_since;
  if (since) EndStall(changes, id, changes.now() - since);
  // Else it is looked at when its moment comes, and then given a new one; a later one is its GPUs' alone.
  const TimePoint limit = LimitAt(changes, id, watched);
  if (since || !watched.due || watched.due > limit) LookAt(changes, id, limit);
}

// All that stands still is said once by a leader, and the next one asks anew before it restarts anything.
void BeginStall(Changes& changes, AttemptId id, Watched& watched) {
  const bool known = static_cast<bool>(changes.attempt(id).stalled_since);
  if (known && !RestartsOnHang(changes.job(id.job), changes.attempt(id)) && !AsksForEvidence(changes.attempt(id))) {
    return LookAt(changes, id, {});
  }
  changes.EditAttempt(id, [&](Attempt& attempt) {
    if (!known) attempt.stalled_since = watched.last;
    ++attempt.evidence_asked;
    attempt.evidence.clear();
  });
  if (!known) {
    const Duration longest = std::max(changes.job(id.job).longest_gap, watched.longest);
    changes.Note(HistoryKind::kAttemptStalled, id, {}, "", {.took = changes.now() - watched.last, .grace = longest});
  }
  watched.answers.clear();
  watched.answer_by = changes.now() + kEvidenceWait;
  LookAt(changes, id, watched.answer_by);
  changes.SyncAttempt(changes.attempt(id));
}

// Time alone does not clear it: it is measured.
void SuspectHang(Changes& changes, NodeId id, const std::string& why) {
  Suspect(changes, id, why);
  if (!changes.policy().health.validate.suspects) return;
  ToBeMeasured(changes, id, ValidationNeed::kSuspicion, why + ": it is left out until it was found good");
}

// What the tasks have said is kept; then the job goes on elsewhere, if it wants that.
void EndQuestion(Changes& changes, AttemptId id, Watched& watched) {
  const std::string evidence = EvidenceInWords(changes.state(), changes.attempt(id), watched.answers);
  watched.answers.clear();
  watched.answer_by = {};
  changes.EditAttempt(id, [&](Attempt& attempt) { attempt.evidence = evidence; });
  changes.SyncAttempt(changes.attempt(id));
  if (!RestartsOnHang(changes.job(id.job), changes.attempt(id))) return LookAt(changes, id, {});
  // The question may be the last leader's, and this one has not counted for long enough.
  const TimePoint limit = LimitAt(changes, id, watched);
  if (changes.now() < limit) return LookAt(changes, id, limit);
  LookAt(changes, id, {});
  const std::vector<NodeId> nodes = changes.attempt(id).nodes;
  const Duration silent = changes.now() - watched.last;
  const Duration longest = std::max(changes.job(id.job).longest_gap, watched.longest);
  for (const NodeId node : nodes)
    SuspectHang(changes, node, "job " + std::to_string(id.job.value) + " stood still there");
  StopAttempt(changes, id, StopCause::kHang, "it stands still: " + NoSignFor(silent, longest));
  CountHang(changes, nodes, id.job);
}

void JudgeStall(Changes& changes, AttemptId id) {
  const Attempt* attempt = changes.state().FindAttempt(id);
  if (!attempt || attempt->state != AttemptState::kRunning || attempt->stop != StopCause::kNone) {
    return ForgetSigns(changes, id);
  }
  Watched& watched = changes.watch().attempts.at(id);
  if (!MayBeJudged(changes.state(), *attempt)) {
    watched.last = changes.now();
    return LookAt(changes, id, changes.now() + LimitOf(changes, id, watched));
  }
  const TimePoint limit = LimitAt(changes, id, watched);
  if (!AllNodesAreHeard(changes, *attempt)) {
    return LookAt(changes, id, std::max(limit, changes.now() + changes.policy().node_lost_after));
  }
  if (watched.answer_by) {
    if (changes.now() >= watched.answer_by) return EndQuestion(changes, id, watched);
    return LookAt(changes, id, watched.answer_by);
  }
  if (changes.now() < limit) return LookAt(changes, id, limit);
  if (CanTell(*attempt, watched)) return BeginStall(changes, id, watched);
  LookAt(changes, id, {});  // an agent of an earlier release: until a rank says something nobody can tell
}

// A leader's first report of a task is no sign, or each new leader would take all for alive: steps are stored now and
// then alone, and what an agent told the leader before is not known.
bool IsSign(Watched& watched, const ObservedTask& seen, bool changed) {
  if (watched.tasks.size() <= seen.id.index) watched.tasks.resize(seen.id.index + 1);
  Watched::OfTask& task = watched.tasks[seen.id.index];
  const bool moved = task.activity && seen.activity_at && task.activity != seen.activity_at;
  if (seen.activity_at) {
    task.activity = seen.activity_at;
    watched.told = true;
  }
  return std::exchange(task.heard, true) && (changed || moved);
}

bool AllHaveAnswered(const ClusterState& state, AttemptId id, const Watched& watched) {
  const std::vector<const Task*> tasks = TasksOf(state, id);
  return std::all_of(tasks.begin(), tasks.end(), [&](const Task* task) {
    return task->phase == TaskPhase::kReleased || watched.answers.contains(task->id.index);
  });
}

void Excuse(Changes& changes, AttemptId id, Duration away) {
  const auto it = changes.watch().attempts.find(id);
  if (it == changes.watch().attempts.end() || changes.attempt(id).state != AttemptState::kRunning) return;
  Watched& watched = it->second;
  watched.last = std::min(changes.now(), watched.last + away);
  if (watched.gpu_last) watched.gpu_last = std::min(changes.now(), watched.gpu_last + away);
  if (watched.answer_by) {
    watched.answer_by = std::max(watched.answer_by, changes.now() + kEvidenceWait);
    LookAt(changes, id, watched.answer_by);
  } else if (watched.due) {
    // A moment in the past would look as if the scheduler had slept since then.
    LookAt(changes, id, std::max(changes.now(), watched.last + LimitOf(changes, id, watched)));
  }
}

}  // namespace

Duration NoProgressLimit(const Policy& policy, const Job& job, Duration longest_gap) {
  if (job.spec->no_progress.ms > 0) return job.spec->no_progress;
  return std::max(policy.health.no_progress_min, longest_gap * policy.health.no_progress_gaps);
}

bool AsksForEvidence(const Attempt& attempt) {
  return attempt.stalled_since && attempt.evidence.empty() && attempt.state == AttemptState::kRunning;
}

void SeeSigns(Changes& changes, const ObservedTask& seen, bool changed) {
  const AttemptId id = seen.id.attempt;
  const Attempt* attempt = changes.state().FindAttempt(id);
  if (!attempt || attempt->state != AttemptState::kRunning || attempt->stop != StopCause::kNone) return;
  const auto [it, fresh] = changes.watch().attempts.try_emplace(id);
  Watched& watched = it->second;
  if (fresh) {
    watched.last = changes.now();
    const bool asks = AsksForEvidence(*attempt);  // the leader before this one did
    if (asks) watched.answer_by = changes.now() + kEvidenceWait;
    LookAt(changes, id, asks ? watched.answer_by : changes.now() + LimitOf(changes, id, watched));
  }
  SeeGpus(changes, seen);
  attempt = changes.state().FindAttempt(id);  // its row may be another one now
  if (IsSign(watched, seen, changed)) return SeeSign(changes, id, watched);
  if (!watched.answer_by || seen.evidence_id != attempt->evidence_asked) return;
  watched.answers[seen.id.index] = seen.evidence;
  if (AllHaveAnswered(changes.state(), id, watched) && MayBeJudged(changes.state(), *attempt)) {
    EndQuestion(changes, id, watched);
  }
}

void NodeWasAway(Changes& changes, NodeId node, Duration away) {
  if (away <= AwayFrom(changes.policy()) || Planted(PlantedBug::kSilenceIsHang)) return;
  if (const AttemptId holder = changes.node(node).holder) Excuse(changes, holder, away);
}

void SchedulerWasAway(Changes& changes) {
  const TimePoint promised = changes.state().promised_wake;
  if (!promised || promised >= changes.now()) return;
  std::vector<AttemptId> all;
  for (const auto& [id, watched] : changes.state().watch.attempts) all.push_back(id);
  for (const AttemptId id : all) Excuse(changes, id, changes.now() - promised);
}

void ForgetSigns(Changes& changes, AttemptId id) {
  const auto it = changes.watch().attempts.find(id);
  if (it == changes.watch().attempts.end()) return;
  if (it->second.due) changes.watch().due.erase({it->second.due, id});
  changes.watch().attempts.erase(it);
}

void JudgeStalls(Changes& changes) {
  std::vector<AttemptId> due;
  for (const auto& [at, id] : changes.state().watch.due) {
    if (at > changes.now()) break;
    due.push_back(id);
  }
  for (const AttemptId id : due) {
    JudgeGpus(changes, id);
    if (changes.state().watch.attempts.contains(id)) JudgeStall(changes, id);
  }
}

TimePoint NextStall(const ClusterState& state) {
  return state.watch.due.empty() ? TimePoint{} : state.watch.due.begin()->first;
}

}  // namespace glim::core
