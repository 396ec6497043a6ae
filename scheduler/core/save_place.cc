#include "scheduler/core/save_place.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "scheduler/core/attempt_machine.h"

namespace glim::core {
namespace {

using Nodes = std::vector<NodeId>;

// A quarantined node takes no job; while its agent is connected it gives what it has.
bool IsHeard(const ClusterState& state, const Node* node) {
  if (!node || node->state != NodeState::kQuarantined) return node && node->state == NodeState::kReady;
  const auto live = state.liveness.find(node->id);
  return live != state.liveness.end() && live->second.session != 0;
}

Nodes UnionOf(const Nodes& a, const Nodes& b) {
  Nodes all;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
  return all;
}

bool Includes(const Nodes& all, const Nodes& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

// Of nodes any one of which would do.
SaveReach ReachOfAny(const ClusterState& state, const Nodes& nodes) {
  SaveReach best{Reach::kLost, nodes.front()};
  for (const NodeId id : nodes) {
    const Node* node = state.FindNode(id);
    if (IsHeard(state, node)) return {};
    const bool may_come_back = node && node->state != NodeState::kLost;
    if (may_come_back && best.reach == Reach::kLost) best = {Reach::kSilent, id};
  }
  return best;
}

// Of nodes all of which are needed: the worst decides.
SaveReach ReachOfAll(const ClusterState& state, const Nodes& nodes) {
  SaveReach worst;
  for (const NodeId id : nodes) {
    const SaveReach one = ReachOfAny(state, {id});
    if (one.reach > worst.reach) worst = one;
  }
  return worst;
}

std::string NameOf(const Tables& tables, NodeId id) {
  const Node* node = tables.nodes.Find(id);
  return node ? node->name : "a node that is gone";
}

std::string NamesOf(const Tables& tables, const Nodes& nodes) {
  std::string names;
  for (std::size_t i = 0; i < nodes.size() && i < 4; ++i) names += (i ? ", " : "") + NameOf(tables, nodes[i]);
  if (nodes.size() > 4) names += " and " + std::to_string(nodes.size() - 4) + " more";
  return names;
}

std::string StepOf(const Checkpoint& save) {
  return save.step < 0 ? "the beginning" : "step " + std::to_string(save.step);
}

}  // namespace

bool IsShared(const Checkpoint& save) { return save.local.empty(); }

std::vector<NodeId> HoldersOf(const Checkpoint& save) {
  return save.parts.size() == 1 ? UnionOf(save.copies, save.parts) : save.copies;
}

bool HasWhole(const Checkpoint& save, NodeId node) {
  const Nodes holders = HoldersOf(save);
  return std::binary_search(holders.begin(), holders.end(), node);
}

SaveReach ReachOf(const ClusterState& state, const Checkpoint& save) {
  if (IsShared(save)) return {};
  const Nodes holders = HoldersOf(save);
  const SaveReach whole = holders.empty() ? SaveReach{Reach::kLost, {}} : ReachOfAny(state, holders);
  if (whole.reach == Reach::kNow || save.parts.size() < 2) return whole;
  const SaveReach pieces = ReachOfAll(state, save.parts);
  return !whole.node || pieces.reach < whole.reach ? pieces : whole;
}

bool MayBeInMemory(const ClusterState& state, const Job& job) {
  if (job.restore_failures >= kMemoryTriesMax) return false;
  for (std::uint32_t number = job.attempts; number >= 1 && number >= job.durable.attempt; --number) {
    const Attempt* attempt = state.FindAttempt({job.id, number});
    // One that did not even have its save has given nobody a copy.
    if (!attempt || !attempt->started_at || attempt->outcome == Outcome::kRestoreFailed) continue;
    for (const NodeId id : attempt->replicas) {
      const Node* node = id ? state.FindNode(id) : nullptr;
      if (node && node->state == NodeState::kReady && !node->replica.empty()) return true;
    }
  }
  return false;
}

Checkpoint BaseOf(const ClusterState& state, const Job& job) {
  const bool kept = ReachOf(state, job.durable).reach != Reach::kLost || MayBeInMemory(state, job) ||
                    job.spec->if_unreachable == IfUnreachable::kWait;
  if (kept) return job.durable;
  for (const Checkpoint& save : job.older) {
    if (ReachOf(state, save).reach != Reach::kLost) return save;
  }
  return {};
}

void SettleSave(Changes& changes, JobId id) {
  const Job& job = changes.job(id);
  NodeId wait;
  bool in_memory = false;
  if (job.state == JobState::kQueued) {
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
  if (news && wait) changes.Note("save_waited_for", {id, changes.job(id).attempts}, wait, changes.node(wait).name);
  changes.MarkDirty();
}

void SettleSavesOn(Changes& changes, NodeId node) {
  // Any node may have copies in its memory of what is watched.
  std::set<JobId> jobs = changes.state().index().save_watch;
  const auto& all = changes.state().index().saved_on;
  if (const auto found = all.find(node); found != all.end()) jobs.insert(found->second.begin(), found->second.end());
  for (const JobId id : jobs) SettleSave(changes, id);
}

void TakeBase(Changes& changes, AttemptId id, const Checkpoint& base) {
  const Checkpoint newest = changes.job(id.job).durable;
  if (base.step < newest.step) {
    const std::int64_t lost = newest.step - base.step;
    const std::string why = "the save of " + StepOf(newest) + " lies on " +
                            NamesOf(changes.state().tables(), UnionOf(newest.parts, newest.copies)) +
                            " alone, which is lost: it goes on from " + StepOf(base) + ", " + std::to_string(lost) +
                            (lost == 1 ? " step lost" : " steps lost");
    changes.EditJob(id.job, [&](Job& row) {
      row.durable = base;
      std::erase_if(row.older, [&](const Checkpoint& save) { return save.step >= base.step; });
      row.steps_lost += lost;
      row.restore_failures = 0;  // of another save
      row.message = why;
    });
    changes.Note("save_given_up", id, {}, why);
  }
  changes.EditAttempt(id, [&](Attempt& row) { row.base = base; });
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
    job.older.clear();
  }
  job.durable = std::move(save);
}

Blocker SaveBlocker(const Tables& tables, const Job& job) {
  const Node* node = tables.nodes.Find(job.waits_for_save);
  const bool lost = node && node->state == NodeState::kLost;
  std::string message = "its save of " + StepOf(job.durable) + " lies on node " + NameOf(tables, job.waits_for_save) +
                        ", which is " + (node ? ToString(node->state) : "gone") + ": it starts when that node is heard";
  message += lost ? " again (checkpoint.if_unreachable: wait)" : ", or goes on without when it is lost";
  return {BlockerKind::kCheckpointOn, std::move(message), 0, 1, {}};
}

std::string SavesInWords(const JobSpec& spec, const std::string& root) {
  if (!spec.checkpoint_dir.empty()) {
    return "saves go to checkpoint.dir, " + spec.checkpoint_dir + ", which every node that may run the job must see";
  }
  if (!root.empty()) return "saves go to " + root + ", which all nodes share: the job comes back on any of them";
  return "saves stay on the node that wrote them (the cluster has no checkpoint_root); when the job comes back on "
         "another one, the agents copy the newest save there";
}

std::string SavesInWords(const Tables& tables, const Job& job) {
  std::string words = SavesInWords(*job.spec, job.checkpoint_root);
  if (IsShared(job.durable)) return words;
  const Nodes nodes = UnionOf(job.durable.parts, job.durable.copies);
  return words + "; " + StepOf(job.durable) + " is on " + NamesOf(tables, nodes);
}

}  // namespace glim::core
