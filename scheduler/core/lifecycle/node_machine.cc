#include "scheduler/core/lifecycle/node_machine.h"

#include <algorithm>
#include <set>

#include "scheduler/core/lifecycle/attempt_end.h"
#include "scheduler/core/lifecycle/attempt_machine.h"
#include "scheduler/core/lifecycle/attempt_progress.h"
#include "scheduler/core/lifecycle/claims.h"
#include "scheduler/core/lifecycle/job_machine.h"
#include "scheduler/core/lifecycle/root_check.h"
#include "scheduler/core/lifecycle/save_place.h"
#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/model/planted.h"
#include "scheduler/core/model/save_reach.h"

namespace glim::core {
namespace {

Status SecondMachine(const Node& node) {
  return Status(StatusCode::kAlreadyExists, "node name " + node.name + " belongs to another machine")
      .WithReason("NODE_NAME_TAKEN")
      .WithField("node_name")
      .WithFix("give this agent another --node-name");
}

void SetState(Changes& changes, NodeId id, NodeState state, const std::string& message) {
  changes.EditNode(id, [&](Node& node) {
    node.state = state;
    node.message = message;
  });
  SettleSavesOn(changes, id);
}

void FallSilent(Changes& changes, NodeId id, const std::string& why) {
  SetState(changes, id, NodeState::kSilent, why);
  changes.Note(HistoryKind::kNodeSilent, {}, id, why);
}

// Nobody holds on to a node that is not there: its holder fails, its claimant looks elsewhere.
void Abandon(Changes& changes, NodeId id, const std::string& why) {
  if (changes.node(id).claim) DropClaimOf(changes, id, why);
  const AttemptId holder = changes.node(id).holder;
  if (!holder) return;
  const Attempt& attempt = changes.attempt(holder);
  if (attempt.state == AttemptState::kClaimed) {
    DropClaims(changes, holder, why);
    Requeue(changes, holder.job, {});
    return;
  }
  const auto at = std::find(attempt.nodes.begin(), attempt.nodes.end(), id) - attempt.nodes.begin();
  StopAttempt(changes, holder, StopCause::kNodeFailure, why);
  WriteOffTask(changes, {holder, static_cast<std::uint32_t>(at)}, why);
  AdvanceAttempt(changes, holder);
}

void MergeRank(Rank& row, const Rank& seen) {
  const Rank before = row;
  row = seen;
  row.step = std::max(row.step, before.step);
  row.greeted = row.greeted || before.greeted;
  row.leaving = row.leaving || before.leaving;
  row.finished = row.finished || before.finished;
  row.yielded = row.yielded || before.yielded;
  if (before.exited) {
    row.exited = true;
    row.exit_code = before.exit_code;
    if (before.exited_at) row.exited_at = before.exited_at;
    if (!before.cause.empty()) row.cause = before.cause;
  }
  if (row.saves.size() > 8) row.saves.erase(row.saves.begin(), row.saves.end() - 8);
}

Written MergeTask(Changes& changes, const ObservedTask& seen) {
  const Attempt* attempt = changes.state().FindAttempt(seen.id.attempt);
  const bool copies_its_save = attempt && attempt->state == AttemptState::kStarting && !IsShared(attempt->base);
  return changes.EditTask(seen.id, [&](Task& task) {
    if (task.phase == TaskPhase::kReleased) return;
    // Its agent began anew while it copied the save: nothing of the task had begun, so nothing has failed.
    const bool never_began = seen.lost && copies_its_save && task.phase < TaskPhase::kRunning;
    task.phase = std::max(task.phase, seen.phase);
    task.exit_code = seen.exit_code;
    task.message = seen.message;
    task.lost = seen.lost && !never_began;
    task.start_failed = seen.start_failed || never_began;
    task.job_fault = seen.job_fault;
    task.path_missing = seen.path_missing;
    task.save_missing = seen.save_missing || never_began;
    task.copy_time = std::max(task.copy_time, seen.copy_time);
    if (seen.copied_bytes > task.copied_bytes) {
      task.copied_bytes = seen.copied_bytes;
      task.copied_at = changes.now();
    }
    if (seen.lost || seen.start_failed) task.phase = std::max(task.phase, TaskPhase::kExited);
    if (!task.first_output) task.first_output = seen.first_output;
    for (const Rank& rank : seen.ranks) {
      for (Rank& row : task.ranks) {
        if (row.rank == rank.rank) MergeRank(row, rank);
      }
    }
    if (seen.lost) task.phase = TaskPhase::kReleased;
    if (task.phase == TaskPhase::kReleased) task.released_at = changes.now();
  });
}

// Nothing is asked of it: only what its tasks say can move it.
bool RunsSteadily(const Attempt& attempt) {
  return attempt.state == AttemptState::kRunning && attempt.stop == StopCause::kNone && !attempt.open_agreement();
}

bool IsStale(const Node& node, TaskId id) {
  return std::find(node.stale_tasks.begin(), node.stale_tasks.end(), id) != node.stale_tasks.end();
}

// What the planner weighs a wait against: half of it is the newest copy's, so that one slow copy does not decide.
void MeasureCopy(Changes& changes, NodeId id, const Task& before, const ObservedTask& seen) {
  constexpr std::int64_t kBytesMin = 16 << 20;  // of less, opening and syncing is most of the time
  if (seen.copy_time.ms <= 0 || before.copy_time.ms > 0 || seen.copied_bytes < kBytesMin) return;
  const std::int64_t rate = seen.copied_bytes / seen.copy_time.ms * 1000;
  changes.EditNode(id, [&](Node& row) {
    row.copy_bytes_per_s = row.copy_bytes_per_s == 0 ? rate : (row.copy_bytes_per_s + rate) / 2;
  });
}

void SeeTask(Changes& changes, NodeId node, const ObservedTask& seen, std::set<AttemptId>& touched,
             std::vector<AttemptId>& orphans) {
  const Task* task = changes.state().FindTask(seen.id);
  if (IsStale(changes.node(node), seen.id)) {
    if (Planted(PlantedBug::kStaleCheckpoint) && task) {
      Task told = *task;
      told.ranks = seen.ranks;
      SeeProgress(changes, seen.id.attempt, {&told});
    }
    if (seen.phase == TaskPhase::kReleased || seen.lost) {
      changes.EditNode(node, [&](Node& row) { std::erase(row.stale_tasks, seen.id); });
    }
    return;
  }
  if (!task || task->node != node) {
    if (seen.phase != TaskPhase::kReleased) orphans.push_back(seen.id.attempt);
    return;
  }
  MeasureCopy(changes, node, *task, seen);
  const Written written = MergeTask(changes, seen);
  task = changes.state().FindTask(seen.id);
  if (written == Written::kRow) NoteShards(changes, *task);
  if (written == Written::kRow || !RunsSteadily(changes.attempt(seen.id.attempt))) {
    touched.insert(seen.id.attempt);
  } else if (written == Written::kProgress) {
    SeeSteps(changes, *task);
  }
}

// What the scheduler believes is there, and the agent, up to date, does not know.
void SeeAbsent(Changes& changes, NodeId id, const NodeReported& event, std::set<AttemptId>& touched) {
  const auto reported = [&](TaskId task) {
    return std::any_of(event.tasks.begin(), event.tasks.end(), [&](const ObservedTask& t) { return t.id == task; });
  };
  changes.EditNode(id, [&](Node& row) { std::erase_if(row.stale_tasks, [&](TaskId z) { return !reported(z); }); });
  const AttemptId holder = changes.node(id).holder;
  if (!holder) return;
  for (const Task* task : TasksOf(changes.state(), holder)) {
    if (task->node != id || task->phase == TaskPhase::kPending || task->phase == TaskPhase::kReleased) continue;
    if (reported(task->id)) continue;
    ObservedTask gone;
    gone.id = task->id;
    gone.phase = TaskPhase::kReleased;
    gone.lost = true;
    gone.message = "the agent does not know it any more";
    MergeTask(changes, gone);
    touched.insert(holder);
    break;
  }
}

void HeardAgain(Changes& changes, NodeId id) {
  const NodeState state = changes.node(id).state;
  if (state == NodeState::kSilent || state == NodeState::kLost || state == NodeState::kRefused) {
    SetState(changes, id, NodeState::kReady, "");
    changes.Note(HistoryKind::kNodeReady, {}, id);
    // A stop that was ordered meanwhile is heard only now: the release bound counts from here.
    const Attempt* holder = changes.state().FindAttempt(changes.node(id).holder);
    if (holder && holder->state == AttemptState::kStopping) {
      changes.EditAttempt(holder->id, [&](Attempt& attempt) { attempt.stop_at = changes.now(); });
    }
  }
}

}  // namespace

void ApplyConnected(Changes& changes, const NodeConnected& event) {
  const auto known = changes.state().index().node_by_name.find(event.name);
  Node node;
  if (known != changes.state().index().node_by_name.end()) {
    node = changes.node(known->second);
    if (node.machine_id != event.machine_id) {
      changes.reply().status = SecondMachine(node);
      return;
    }
  } else {
    node.id = changes.NewNodeId();
    node.name = event.name;
    node.machine_id = event.machine_id;
    changes.Note(HistoryKind::kNodeRegistered, {}, node.id, "",
                 {.gpus = event.labels.gpu_count,
                  .simulated_gpus = event.labels.simulated_gpus,
                  .pool = event.labels.pool,
                  .zone = event.labels.zone});
  }
  const NodeId id = node.id;
  const std::string right_marker = RightMarker(changes.state());
  node.boot_id = event.boot_id;
  node.labels = event.labels;
  node.address = event.address;
  node.agent_version = event.agent_version;
  node.runtime = event.runtime;
  node.replica = event.replica;
  node.save_address = event.save_address;
  node.save_key = event.save_key;
  node.allowed_folders = event.allowed_folders;
  ForgetRoot(changes.policy(), node);
  changes.Write(std::move(node));
  JudgeRootsAgain(changes, right_marker);
  // A store that forgot its jobs must not give their numbers to others: the node still has their logs and checkpoints.
  if (event.highest_job) changes.SkipJobIds(event.highest_job);
  changes.liveness(id) = {event.session, changes.now()};
  changes.ForgetSilence();
  HeardAgain(changes, id);
  SettleSavesOn(changes, id);  // a quarantined node stays so, and gives its saves again
  changes.Sync(id);
  changes.reply().node = id;
}

void ApplyDisconnected(Changes& changes, const NodeDisconnected& event) {
  Liveness& live = changes.liveness(event.node);
  if (live.session != event.session) return;  // a newer stream has replaced it
  live.session = 0;
  if (changes.node(event.node).state == NodeState::kReady) {
    FallSilent(changes, event.node, "its agent's stream ended");
  }
  SettleSavesOn(changes, event.node);
}

namespace {

void TakeIn(Changes& changes, const NodeReported& event, std::set<AttemptId>& touched) {
  if (!changes.state().FindNode(event.node)) return;
  Liveness& live = changes.liveness(event.node);
  if (live.session != event.session) return;
  live.last_heard = changes.now();
  HeardAgain(changes, event.node);
  SeeRoot(changes, event.node, event.root_marker, event.root_error);
  std::vector<AttemptId> orphans;
  for (const ObservedTask& task : event.tasks) SeeTask(changes, event.node, task, touched, orphans);
  if (event.current) SeeAbsent(changes, event.node, event, touched);
  if (orphans != changes.node(event.node).orphans) {
    for (const AttemptId orphan : orphans) {
      // Under a store that forgot them, a job of ours with an orphan's number would find its checkpoints.
      changes.SkipJobIds(orphan.job);
      changes.Note(HistoryKind::kOrphan, orphan, event.node);
    }
    changes.EditNode(event.node, [&](Node& row) { row.orphans = orphans; });
  }
}

}  // namespace

void ApplyReported(Changes& changes, const NodeReported& event) {
  std::set<AttemptId> touched;
  TakeIn(changes, event, touched);
  for (const AttemptId attempt : touched) AdvanceAttempt(changes, attempt);
}

void ApplyReports(Changes& changes, std::span<const Event> reports) {
  std::set<AttemptId> touched;
  for (const Event& report : reports) TakeIn(changes, std::get<NodeReported>(report.what), touched);
  for (const AttemptId attempt : touched) AdvanceAttempt(changes, attempt);
}

void ApplyReturn(Changes& changes, const ReturnNode& event) {
  const auto known = changes.state().index().node_by_name.find(event.name);
  if (known == changes.state().index().node_by_name.end()) {
    changes.reply().status = Status(StatusCode::kNotFound, "no node " + event.name)
                                 .WithReason("NO_SUCH_NODE")
                                 .WithField("node")
                                 .WithFix("glim nodes lists the nodes");
    return;
  }
  const NodeId id = known->second;
  if (changes.node(id).state == NodeState::kQuarantined) {
    SetState(changes, id, changes.liveness(id).session ? NodeState::kReady : NodeState::kSilent, "");
    changes.Note(HistoryKind::kNodeReturned, {}, id);
  }
  changes.EditNode(id, [](Node& node) { node.suspect = 0; });
  changes.Sync(id);
  changes.reply().state = ToString(changes.node(id).state);
}

void JudgeSilence(Changes& changes) {
  const Policy& policy = changes.policy();
  if (changes.state().silence_known && changes.state().silence_due && changes.now() < changes.state().silence_due)
    return;
  changes.ForgetSilence();
  std::vector<NodeId> overdue;
  std::size_t judged = 0, silent = 0;
  std::vector<NodeId> all;
  changes.state().tables().nodes.ForEach([&](NodeId id, const Node&) { all.push_back(id); });
  for (const NodeId id : all) {
    const NodeState state = changes.node(id).state;
    if (state == NodeState::kLost || state == NodeState::kQuarantined) continue;
    ++judged;
    const Liveness& live = changes.liveness(id);
    const Duration silence = changes.now() - std::max(live.last_heard, changes.state().leader_since);
    if ((state == NodeState::kReady || state == NodeState::kRefused) && silence >= policy.node_lost_after / 4) {
      FallSilent(changes, id, "nothing heard from its agent");
    }
    if (changes.node(id).state == NodeState::kSilent) ++silent;
    if (silence >= policy.node_lost_after) overdue.push_back(id);
  }
  // All the silent count, not only the overdue: agents' last words lie up to a heartbeat apart, and so the first to
  // fall due is alone for a moment in every outage.
  const bool outage = !overdue.empty() && silent >= 2 && silent * 100 > judged * policy.outage_percent;
  if (outage != changes.state().outage) {
    changes.Note(outage ? HistoryKind::kOutageBegan : HistoryKind::kOutageEnded, {}, {}, "",
                 {.nodes = static_cast<std::uint32_t>(silent)});
    changes.SetOutage(outage);
    changes.MarkDirty();
  }
  if (outage) return;
  for (const NodeId id : overdue) {
    SetState(changes, id, NodeState::kLost, "nothing heard from its agent");
    changes.EditNode(id, [](Node& node) { ++node.suspect; });
    changes.Note(HistoryKind::kNodeLost, {}, id, changes.node(id).message);
    Abandon(changes, id, "node " + changes.node(id).name + " was lost");
  }
}

void Quarantine(Changes& changes, TaskId id) {
  const Task* task = changes.state().FindTask(id);
  const NodeId node = task->node;
  const std::string evidence =
      "task " + ToString(id.attempt) + "." + std::to_string(id.index) + " did not go after SIGKILL: " + task->message;
  SetState(changes, node, NodeState::kQuarantined, evidence);
  changes.Note(HistoryKind::kNodeQuarantined, id.attempt, node, evidence);
  WriteOffTask(changes, id, evidence);
}

}  // namespace glim::core
