#include "scheduler/core/lifecycle/save_place.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/model/save_reach.h"

namespace glim::core {
namespace {

using Nodes = std::vector<NodeId>;

Nodes UnionOf(const Nodes& a, const Nodes& b) {
  Nodes all;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
  return all;
}

bool Includes(const Nodes& all, const Nodes& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

}  // namespace

void SettleSave(Changes& changes, JobId id) {
  const Job& job = changes.job(id);
  NodeId wait;
  bool in_memory = false;
  const NodeId orphan = job.state == JobState::kQueued ? OrphanOf(changes.state(), id) : NodeId();
  if (orphan) {
    wait = orphan;
  } else if (job.state == JobState::kQueued) {
    const Checkpoint base = BaseOf(changes.state(), job);
    const SaveReach reach = ReachOf(changes.state(), base);
    in_memory = reach.reach == Reach::kLost && MayBeInMemory(changes.state(), job);
    if (reach.reach != Reach::kNow && !in_memory) wait = reach.node;
  }
  if (wait == job.waits_for_save && in_memory == job.save_in_memory) return;
  const bool news = wait != job.waits_for_save;
  changes.EditJob(id, [&](Job& row) {
    row.waits_for_save = wait;
    row.save_in_memory = in_memory;
  });
  if (news && wait && !orphan) {
    changes.Note(HistoryKind::kSaveWaitedFor, {id, changes.job(id).attempts}, wait, "",
                 {.node_names = {changes.node(wait).name}});
  }
  changes.MarkDirty();
}

void SettleSavesOnRemoved(Changes& changes, const Node& node) {
  const Index& index = changes.state().index();
  std::set<JobId> jobs;
  if (const auto found = index.saved_on.find(node.id); found != index.saved_on.end()) jobs = found->second;
  if (const auto found = index.replicas_on.find(node.id); found != index.replicas_on.end()) {
    for (const AttemptId attempt : found->second) {
      if (index.save_watch.contains(attempt.job)) jobs.insert(attempt.job);
    }
  }
  // A job with an orphan waits for it until its node is lost.
  for (const AttemptId orphan : node.orphans) {
    if (changes.state().FindJob(orphan.job)) jobs.insert(orphan.job);
  }
  for (const JobId id : jobs) SettleSave(changes, id);
}

void SettleSavesOn(Changes& changes, NodeId node) {
  if (const Node* row = changes.state().FindNode(node)) SettleSavesOnRemoved(changes, Node(*row));
}

void SettleAllSaves(Changes& changes) {
  const Index& index = changes.state().index();
  std::set<JobId> jobs = index.save_watch;
  for (const auto& [node, saved] : index.saved_on) jobs.insert(saved.begin(), saved.end());
  for (const auto& [job, nodes] : index.orphans) {
    if (changes.state().FindJob(job)) jobs.insert(job);
  }
  for (const JobId id : jobs) SettleSave(changes, id);
}

namespace {

// From now on the job's newest save is `base`. `where` the one before was, and that it cannot be had.
void GoBackTo(Changes& changes, AttemptId id, const Checkpoint& base, const std::string& where) {
  const Checkpoint newest = changes.job(id.job).durable;
  const std::int64_t lost = newest.step - base.step;
  const std::string why = "the save of " + StepOf(newest) + " " + where + ": it goes on from " + StepOf(base) + ", " +
                          std::to_string(lost) + (lost == 1 ? " step lost" : " steps lost");
  changes.EditJob(id.job, [&](Job& row) {
    row.durable = base;
    std::erase_if(row.older, [&](const Checkpoint& save) { return save.step >= base.step; });
    row.steps_lost += lost;
    row.message = why;
  });
  changes.Note(HistoryKind::kSaveGivenUp, id, {}, why);
}

}  // namespace

void TakeBase(Changes& changes, AttemptId id, const Checkpoint& base) {
  const Checkpoint& newest = changes.job(id.job).durable;
  if (base.step < newest.step) {
    GoBackTo(changes, id, base,
             "lies on " + NamesOfNodes(changes.state().tables(), UnionOf(newest.parts, newest.copies)) +
                 " alone, which is lost");
    changes.EditJob(id.job, [](Job& row) { row.restore_failures = 0; });  // of another save
  }
  changes.EditAttempt(id, [&](Attempt& row) { row.base = base; });
}

void GiveUpSave(Changes& changes, const Attempt& ended) {
  const Checkpoint older = changes.job(ended.id.job).older.front();
  GoBackTo(changes, ended.id, older, "is not there, " + ended.message);
}

void NoteCopies(Changes& changes, const Attempt& attempt) {
  const Checkpoint& newest = changes.job(attempt.id.job).durable;
  const Checkpoint& base = attempt.base;
  if (IsShared(base) || newest.step != base.step || newest.attempt != base.attempt) return;
  // A task that went on from a neighbour's memory has nothing on its disk.
  Nodes nodes;
  for (const Task* task : TasksOf(changes.state(), attempt.id)) {
    if (task->copied_bytes > 0) nodes.push_back(task->node);
  }
  std::sort(nodes.begin(), nodes.end());
  Nodes copies = UnionOf(newest.copies, nodes);
  if (copies.size() > kCopiesMax) copies.resize(kCopiesMax);
  changes.EditJob(attempt.id.job, [&](Job& row) { row.durable.copies = std::move(copies); });
}

void NoteSave(Job& job, Checkpoint save) {
  const Nodes now = HoldersOf(save);
  const auto adds_nothing = [&](const Checkpoint& old) { return Includes(now, HoldersOf(old)); };
  if (!IsShared(save)) {
    if (job.durable.step >= 0 && !IsShared(job.durable)) job.older.insert(job.older.begin(), job.durable);
    std::erase_if(job.older, adds_nothing);
    if (job.older.size() > kOlderSavesMax) job.older.resize(kOlderSavesMax);
  } else {
    // Nobody has seen what its user only says: the one before may be all that there is.
    const bool other = job.durable.step >= 0 && IsShared(job.durable) && job.durable.path != save.path;
    job.older.clear();
    if (other) job.older.push_back(job.durable);
  }
  job.durable = std::move(save);
}

}  // namespace glim::core
