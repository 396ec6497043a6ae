#include "scheduler/core/attempt_machine.h"

#include <algorithm>

#include "scheduler/core/attempt_end.h"
#include "scheduler/core/attempt_progress.h"
#include "scheduler/core/failed_rank.h"
#include "scheduler/core/job_machine.h"
#include "scheduler/core/ledger.h"
#include "scheduler/core/planted.h"
#include "scheduler/core/round_machine.h"
#include "scheduler/core/save_place.h"

namespace glim::core {
namespace {

// MASTER_PORT and, right after it, GLIM_HFREDUCE_PORT. Pairs never overlap: the second is nobody's first.
constexpr std::uint32_t kPortsOfAttempt = 2;

std::uint16_t MasterPort(const Policy& policy, AttemptId id) {
  const std::uint32_t pairs = (policy.master_port_last - policy.master_port_first + 1u) / kPortsOfAttempt;
  // New ports for each attempt: the last attempt's sockets may still linger.
  const std::uint64_t pair = (id.job.value * 31 + id.number) % std::max(1u, pairs);
  return static_cast<std::uint16_t>(policy.master_port_first + pair * kPortsOfAttempt);
}

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
  NoteCopies(changes, changes.attempt(id));
  changes.Note("attempt_running", id, {}, "");
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
  const Round* round = attempt.open_round();
  bool leaving = false;
  for (const Task* task : tasks) {
    for (const Rank& rank : task->ranks) leaving = leaving || rank.leaving;
  }
  const bool excused = leaving || (round && round->state == RoundState::kSignalled);
  for (const Task* task : tasks) {
    const std::string where = " on node " + changes.node(task->node).name;
    if (task->lost) {
      StopAttempt(changes, id, StopCause::kNodeFailure,
                  "its processes are gone" + where + (task->message.empty() ? "" : ": " + task->message));
      return;
    }
    if (task->start_failed) {
      StopAttempt(changes, id, StopCause::kRankFailed, "could not start" + where + ": " + task->message);
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
  const Round* round = attempt.open_round();
  if (attempt.stop != StopCause::kNone || (round && round->state == RoundState::kSignalled)) return;
  for (const Task* task : tasks) {
    for (const Rank& rank : task->ranks) {
      if (!rank.exited || rank.exit_code != 0 || rank.leaving || rank.yielded) return;
    }
  }
  StopAttempt(changes, id, StopCause::kFinished, "every rank has ended");
}

}  // namespace

std::vector<const Task*> TasksOf(const ClusterState& state, AttemptId attempt) {
  std::vector<const Task*> tasks;
  state.tables().tasks.VisitFrom({attempt, 0}, [&](const TaskId& id, const Task& task) {
    if (id.attempt != attempt) return false;
    tasks.push_back(&task);
    return true;
  });
  return tasks;
}

void BeginStart(Changes& changes, AttemptId id) {
  const Job& job = changes.job(id.job);
  const std::uint32_t ranks = job.spec->ranks_per_node();
  // Before the attempt's own row says that it has begun: its job's newest save is what it goes on from.
  TakeBase(changes, id, BaseOf(changes.state(), job));
  changes.EditAttempt(id, [&](Attempt& attempt) {
    attempt.state = AttemptState::kStarting;
    attempt.started_at = changes.now();
    attempt.master_port = MasterPort(changes.policy(), id);
  });
  const std::vector<NodeId> nodes = changes.attempt(id).nodes;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    Task task;
    task.id = {id, i};
    task.node = nodes[i];
    for (std::uint32_t r = 0; r < ranks; ++r) task.ranks.emplace_back().rank = i * ranks + r;
    changes.Write(std::move(task));
    changes.Sync(nodes[i]);
  }
  changes.Note("attempt_starting", id, {}, "holds all its nodes");
}

void StopAttempt(Changes& changes, AttemptId id, StopCause cause, const std::string& message) {
  const Attempt& before = changes.attempt(id);
  if (before.state == AttemptState::kEnded || before.stop != StopCause::kNone) return;
  if (before.state == AttemptState::kClaimed) {
    DropClaims(changes, id, message);
    return;
  }
  changes.EditAttempt(id, [&](Attempt& attempt) {
    attempt.state = AttemptState::kStopping;
    attempt.stop = cause;
    attempt.stop_at = changes.now();
    attempt.message = message;
  });
  if (cause != StopCause::kFinished)
    changes.Note("attempt_stopping", id, {}, std::string(ToString(cause)) + ": " + message);
  changes.SyncAttempt(changes.attempt(id));
}

void DropClaims(Changes& changes, AttemptId id, const std::string& why) {
  const Attempt before = changes.attempt(id);
  GLIM_CHECK(before.state == AttemptState::kClaimed, "only a claimed attempt has claims to drop");
  changes.EditAttempt(id, [&](Attempt& attempt) {
    attempt.state = AttemptState::kEnded;
    attempt.outcome = Outcome::kClaimDropped;
    attempt.message = why;
    attempt.ended_at = changes.now();
    attempt.nodes_held = 0;
  });
  for (const NodeId node : before.nodes) {
    changes.EditNode(node, [&](Node& row) {
      if (row.claim == id) row.claim = {};
      if (row.holder == id) row.holder = {};
    });
  }
  for (const AttemptId victim : before.victims) {
    const Attempt* attempt = changes.state().FindAttempt(victim);
    if (attempt && attempt->open_round() && attempt->open_round()->successor == id) WithdrawRound(changes, victim);
  }
  changes.Note("claim_dropped", id, {}, why);
}

void ReleaseNode(Changes& changes, NodeId id) {
  const AttemptId next = changes.node(id).claim;
  changes.EditNode(id, [&](Node& node) {
    node.holder = node.claim;
    node.claim = {};
  });
  changes.Sync(id);
  if (!next) return;
  bool complete = false;
  changes.EditAttempt(next, [&](Attempt& attempt) {
    ++attempt.nodes_held;
    complete = attempt.nodes_held + Planted(PlantedBug::kHalfGang) == attempt.nodes.size();
  });
  if (complete) BeginStart(changes, next);
}

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
  changes.EditNode(node, [&](Node& row) {
    row.holder = {};
    row.zombies.push_back(id);
  });
  changes.Sync(node);
}

void AdvanceAttempt(Changes& changes, AttemptId id) {
  const Attempt* start = changes.state().FindAttempt(id);
  if (!start || start->state == AttemptState::kEnded || start->state == AttemptState::kClaimed) return;
  SeeProgress(changes, id, TasksOf(changes.state(), id));
  SeeRunning(changes, id, TasksOf(changes.state(), id));
  SeeFailures(changes, id, TasksOf(changes.state(), id));
  SeeFinished(changes, id, TasksOf(changes.state(), id));
  AdvanceRound(changes, id);
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
