#include "scheduler/core/lifecycle/node_machine.h"

#include <algorithm>
#include <set>

#include "scheduler/core/lifecycle/attempt_machine.h"
#include "scheduler/core/lifecycle/attempt_progress.h"
#include "scheduler/core/lifecycle/claim_review.h"
#include "scheduler/core/lifecycle/hardware_differs.h"
#include "scheduler/core/lifecycle/health.h"
#include "scheduler/core/lifecycle/heard.h"
#include "scheduler/core/lifecycle/lemons.h"
#include "scheduler/core/lifecycle/node_fault.h"
#include "scheduler/core/lifecycle/node_labels.h"
#include "scheduler/core/lifecycle/node_loss.h"
#include "scheduler/core/lifecycle/node_remove.h"
#include "scheduler/core/lifecycle/orphans.h"
#include "scheduler/core/lifecycle/probes.h"
#include "scheduler/core/lifecycle/quarantine.h"
#include "scheduler/core/lifecycle/root_check.h"
#include "scheduler/core/lifecycle/save_place.h"
#include "scheduler/core/lifecycle/stored_labels.h"
#include "scheduler/core/lifecycle/suspicion.h"
#include "scheduler/core/lifecycle/time_away.h"
#include "scheduler/core/lifecycle/validation_need.h"
#include "scheduler/core/lifecycle/watchdog.h"
#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/model/planted.h"
#include "scheduler/core/model/save_reach.h"

namespace glim::core {
namespace {

Status SecondMachine(const Node& node) {
  return Status(StatusCode::kAlreadyExists, "node name " + node.name + " belongs to another machine")
      .WithReason("NODE_NAME_TAKEN")
      .WithField("node_name")
      .WithFix(
          "give this agent another --node-name; or, if the other machine is no more, take it out: glim admin node "
          "remove " +
          node.name);
}

Status GpusMissing(const std::string& name, const std::string& missing) {
  return Status(StatusCode::kFailedPrecondition, "node " + name + " has " + missing)
      .WithReason("GPUS_MISSING")
      .WithField("node")
      .WithFix(
          "mend it and start its agent again, or let it register with what it has: glim admin node remove "
          "--connected " +
          name);
}

Status IsLoginHost(const std::string& name) {
  return Status(StatusCode::kFailedPrecondition, name + " is a host where users log in: it runs no jobs")
      .WithReason("LOGIN_HOST")
      .WithField("node_name")
      .WithFix("stop this agent there; or remove the host and invite it without --login");
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
  const bool is_stopped = attempt && attempt->stop != StopCause::kNone;
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
    task.hung_path = seen.hung_path;
    task.disk_fault = seen.disk_fault;
    task.pids = is_stopped ? seen.pids : std::vector<std::int32_t>();
    task.save_missing = seen.save_missing || never_began;
    task.out_of_memory = task.out_of_memory || seen.out_of_memory;
    task.left_behind = std::max(task.left_behind, seen.left_behind);
    if (!seen.left_names.empty()) task.left_names = seen.left_names;
    task.copy_time = std::max(task.copy_time, seen.copy_time);
    if (seen.copied_bytes > task.copied_bytes) {
      task.copied_bytes = seen.copied_bytes;
      task.copied_at = changes.now();
    }
    if (seen.image_bytes > task.image_bytes) {
      task.image_bytes = seen.image_bytes;
      task.copied_at = changes.now();
    }
    if (seen.lost || seen.start_failed) task.phase = std::max(task.phase, TaskPhase::kExited);
    if (!task.first_output) task.first_output = seen.first_output;
    for (const Rank& rank : seen.ranks) {
      for (Rank& row : task.ranks) {
        if (row.rank == rank.rank) MergeRank(row, rank);
      }
    }
    // Lost says that nobody vouches for its ranks, which may train on: its node is empty when the agent says so.
    if (seen.lost && Planted(PlantedBug::kLostMeansReleased)) task.phase = TaskPhase::kReleased;
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
             OrphansSeen& orphans) {
  const Task* task = changes.state().FindTask(seen.id);
  if (IsStale(changes.node(node), seen.id)) {
    if (Planted(PlantedBug::kStaleCheckpoint) && task) {
      Task told = *task;
      told.ranks = seen.ranks;
      SeeProgress(changes, seen.id.attempt, {&told});
    }
    if (seen.phase == TaskPhase::kReleased) {
      changes.EditNode(node, [&](Node& row) { std::erase(row.stale_tasks, seen.id); });
      GoneAtLast(changes, node, seen.id);
      changes.Sync(node);  // it is listed no more: until the agent knows, it keeps the task's folder
    }
    return;
  }
  if (!task || task->node != node) {
    if (seen.phase != TaskPhase::kReleased)
      (seen.receipt || Planted(PlantedBug::kClaimIsReceipt) ? orphans.proven : orphans.unproven)
          .push_back(seen.id.attempt);
    return;
  }
  MeasureCopy(changes, node, *task, seen);
  const Written written = MergeTask(changes, seen);
  SeeSigns(changes, seen, written != Written::kNothing);
  task = changes.state().FindTask(seen.id);
  if (written == Written::kRow) NoteShards(changes, *task);
  if (written == Written::kRow || !RunsSteadily(changes.attempt(seen.id.attempt))) {
    touched.insert(seen.id.attempt);
  } else if (written == Written::kProgress) {
    SeeSteps(changes, *task);
  }
}

// What the scheduler believes is there, and the agent, up to date, does not know: it is stopped like any lost task, and
// the agent answers that order with its release. A stale task is listed with its stop anyway.
void SeeAbsent(Changes& changes, NodeId id, const NodeReported& event, std::set<AttemptId>& touched) {
  const auto reported = [&](TaskId task) {
    return std::any_of(event.tasks.begin(), event.tasks.end(), [&](const ObservedTask& t) { return t.id == task; });
  };
  const AttemptId holder = changes.node(id).holder;
  if (!holder) return;
  for (const Task* task : TasksOf(changes.state(), holder)) {
    if (task->node != id || task->phase == TaskPhase::kPending || task->phase == TaskPhase::kReleased) continue;
    if (reported(task->id)) continue;
    ObservedTask gone;
    gone.id = task->id;
    gone.phase = TaskPhase::kExited;
    gone.lost = true;
    gone.message = "the agent does not know it any more";
    MergeTask(changes, gone);
    touched.insert(holder);
    break;
  }
}

// Fewer GPUs than labelled: whoever is there fails, whoever is to come looks elsewhere.
void TakeOut(Changes& changes, NodeId id, const std::string& missing) {
  const Node& node = changes.node(id);
  if (node.state == NodeState::kQuarantined && node.message == missing) return;  // told again
  changes.Note(HistoryKind::kNodeQuarantined, node.holder, id, missing);
  TakeOutForGood(changes, id, missing);
  const JobId failed = FailsWith(changes, id);
  Abandon(changes, id, "node " + changes.node(id).name + " has " + missing);
  CountLoss(changes, id, failed);
}

// A prolog or an epilog failed: nobody else comes, and what runs there runs on. An agent tells the same words again and
// again: an operator who returns the node has seen them.
void SeeSiteFault(Changes& changes, NodeId id, const std::string& fault) {
  if (changes.node(id).site_fault == fault) return;
  changes.EditNode(id, [&](Node& node) { node.site_fault = fault; });
  if (fault.empty()) return;
  const Node& node = changes.node(id);
  if (node.state == NodeState::kQuarantined && node.stuck_tasks.empty()) return;
  changes.Note(HistoryKind::kNodeQuarantined, node.holder, id, fault);
  TakeOutForGood(changes, id, fault);
}

// Of a new one.
void MeasureFirst(Changes& changes, NodeId id) {
  if (!changes.policy().health.validate.on_join) return;
  ToBeMeasured(changes, id, ValidationNeed::kJoin, "it joins: it takes no job before it was found good");
}

// Since when nobody has heard of it, as far as this leader knows.
Duration AwayFor(const Changes& changes, NodeId id) { return changes.now() - SpokeAt(changes.state(), id); }

void HeardAgain(Changes& changes, NodeId id, Duration away, bool new_stream) {
  const NodeState state = changes.node(id).state;
  const bool was_away = state == NodeState::kSilent || state == NodeState::kLost || state == NodeState::kRefused;
  if (was_away) {
    SetNodeState(changes, id, NodeState::kReady, "");
    changes.Note(HistoryKind::kNodeReady, {}, id);
  }
  GiveTimeAway(changes, id, away, was_away || new_stream);
}

void TakeHello(const NodeConnected& event, Node& node) {
  node.boot_id = event.boot_id;
  node.agent_version = event.agent_version;
  node.runtime = event.runtime;
  node.census = event.census;
  node.replica = event.replica;
  node.save_address = event.save_address;
  node.save_key = event.save_key;
  node.allowed_folders = event.allowed_folders;
  node.only_uid = event.only_uid;
  node.needs_uid = event.needs_uid;
}

}  // namespace

void ApplyConnected(Changes& changes, const NodeConnected& event) {
  const NodeIdentity* identity = changes.state().identity().nodes.Find(event.name);
  const bool has_identity = identity != nullptr;
  if (has_identity && identity->login) {
    changes.reply().status = IsLoginHost(event.name);
    return;
  }
  const auto known = changes.state().index().node_by_name.find(event.name);
  Node node;
  if (known != changes.state().index().node_by_name.end()) {
    node = changes.node(known->second);
    if (node.machine_id != event.machine_id) {
      changes.reply().status = SecondMachine(node);
      return;
    }
  }
  const LabelsInForce said = SettleHello(changes, event);
  const bool joins = !node.id;
  if (joins) {
    node.id = changes.NewNodeId();
    node.name = event.name;
    node.machine_id = event.machine_id;
    node.labels = said.labels;
    changes.Note(HistoryKind::kNodeRegistered, {}, node.id, "",
                 {.gpus = said.labels.gpu_count,
                  .simulated_gpus = said.labels.simulated_gpus,
                  .pool = said.labels.pool,
                  .zone = said.labels.zone});
  }
  const NodeId id = node.id;
  const Node before = node;
  HearLabels(changes.state(), node, said.seen);
  const std::string right_marker = RightMarker(changes.state());
  const bool keeps_address = has_identity && RunsSomething(changes.state(), node);  // else: at the release
  if (!keeps_address) node.address = said.address;
  TakeHello(event, node);
  const bool takes_others = before.only_uid != node.only_uid || before.needs_uid != node.needs_uid;
  ForgetRoot(changes.policy(), node);
  changes.Write(std::move(node));
  if (joins) MeasureFirst(changes, id);
  JudgeRootsAgain(changes, right_marker);
  // A store that forgot its jobs must not give their numbers to others: the node still has their logs and checkpoints.
  if (event.highest_job) changes.SkipJobIds(event.highest_job);
  const Duration away = AwayFor(changes, id);
  NodeWasAway(changes, id, away);
  changes.liveness(id) = {event.session, changes.now(), event.inventory};
  changes.ForgetSilence();
  if (const std::string missing = MissingGpus(changes.node(id)); missing.empty()) {
    SettleLabels(changes, before);
  } else {
    TakeOut(changes, id, missing);
  }
  CompareHardware(changes, id);
  if (takes_others) ReviewClaims(changes);
  HeardAgain(changes, id, away, true);
  if (has_identity && changes.node(id).state == NodeState::kReady) {
    changes.EditNode(id, [&](Node& row) { row.message = said.differs; });
  }
  SettleSavesOn(changes, id);  // a quarantined node stays so, and gives its saves again
  changes.Sync(id);
  changes.reply().node = id;
}

void ApplyDisconnected(Changes& changes, const NodeDisconnected& event) {
  if (!changes.state().FindNode(event.node)) return;
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
  const Duration away = AwayFor(changes, event.node);
  NodeWasAway(changes, event.node, away);
  live.last_heard = changes.now();
  HeardAgain(changes, event.node, away, false);
  SeeProbes(changes, event.node, event.probes);
  SeeRoot(changes, event.node, event.root_marker, event.root_error);
  SeeNodeFault(changes, event.node, event.fault);
  SeeSiteFault(changes, event.node, event.site_fault);
  if (event.exposed_sockets && changes.node(event.node).exposed_sockets != *event.exposed_sockets) {
    changes.EditNode(event.node, [&](Node& row) { row.exposed_sockets = *event.exposed_sockets; });
  }
  OrphansSeen orphans;
  for (const ObservedTask& task : event.tasks) SeeTask(changes, event.node, task, touched, orphans);
  if (event.current) SeeAbsent(changes, event.node, event, touched);
  SeeOrphans(changes, event.node, orphans);
  SeeHealth(changes, event);  // after the tasks: what a rank's failure and its cause come to is told together
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
    changes.reply().status = NoSuchNode(event.name);
    return;
  }
  const NodeId id = known->second;
  if (const std::string missing = MissingGpus(changes.node(id)); !missing.empty()) {
    changes.reply().status = GpusMissing(event.name, missing);
    return;
  }
  if (changes.node(id).state == NodeState::kQuarantined) {
    SetNodeState(changes, id, changes.liveness(id).session ? NodeState::kReady : NodeState::kSilent, "");
    changes.Note(HistoryKind::kNodeReturned, {}, id);
  }
  ClearAll(changes, id);
  if (changes.node(id).validation.need == ValidationNeed::kSuspicion) {
    NotToBeMeasured(changes, id, "not any more: an operator returned it");
  }
  changes.EditNode(id, [](Node& node) { node.stuck_tasks.clear(); });
  ForgetConditions(changes, id);
  ForgetFailures(changes, id);
  changes.Sync(id);
  changes.reply().state = ToString(changes.node(id).state);
}

}  // namespace glim::core
