#include "scheduler/core/model/save_reach.h"

#include <algorithm>
#include <iterator>

#include "scheduler/core/model/planted.h"

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

// Of nodes any one of which would do.
SaveReach ReachOfAny(const ClusterState& state, const Nodes& nodes) {
  SaveReach best{Reach::kLost, {}};
  for (const NodeId id : nodes) {
    const Node* node = state.FindNode(id);
    if (IsHeard(state, node)) return {};
    if (!node) continue;  // an operator has removed it
    if (!best.node) best.node = id;
    if (node->state != NodeState::kLost && best.reach == Reach::kLost) best = {Reach::kSilent, id};
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

}  // namespace

std::string NamesOfNodes(const Tables& tables, const std::vector<NodeId>& nodes) {
  std::string names;
  for (std::size_t i = 0; i < nodes.size() && i < 4; ++i) names += (i ? ", " : "") + NameOf(tables, nodes[i]);
  if (nodes.size() > 4) names += " and " + std::to_string(nodes.size() - 4) + " more";
  return names;
}

std::string StepOf(const Checkpoint& save) {
  return save.step < 0 ? "the beginning" : "step " + std::to_string(save.step);
}

bool IsShared(const Checkpoint& save) { return save.local.empty(); }

std::vector<NodeId> HoldersOf(const Checkpoint& save) {
  return save.parts.size() == 1 || Planted(PlantedBug::kPartIsWhole) ? UnionOf(save.copies, save.parts) : save.copies;
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
  for (std::uint32_t number = job.attempts; number >= OldestKept(job.attempts) && number >= job.durable.attempt;
       --number) {
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

namespace {

// Nobody who has it, or a part that is needed, will ever be heard again: its node was removed.
bool IsGone(const ClusterState& state, const Checkpoint& save) {
  const auto removed = [&](NodeId id) { return !state.FindNode(id); };
  const Nodes holders = HoldersOf(save);
  const bool no_whole = std::all_of(holders.begin(), holders.end(), removed);
  return no_whole && (save.parts.size() < 2 || std::any_of(save.parts.begin(), save.parts.end(), removed));
}

}  // namespace

Checkpoint BaseOf(const ClusterState& state, const Job& job) {
  const bool waits = job.spec->if_unreachable == IfUnreachable::kWait && !IsGone(state, job.durable);
  const bool kept = ReachOf(state, job.durable).reach != Reach::kLost || MayBeInMemory(state, job) || waits;
  if (kept) return job.durable;
  for (const Checkpoint& save : job.older) {
    if (ReachOf(state, save).reach != Reach::kLost) return save;
  }
  return {};
}

NodeId OrphanOf(const ClusterState& state, JobId job) {
  const auto found = state.index().orphans.find(job);
  return found == state.index().orphans.end() ? NodeId() : *found->second.begin();
}

Blocker SaveBlocker(const Tables& tables, const Job& job) {
  const Node* node = tables.nodes.Find(job.waits_for_save);
  if (node && JobsLeftOn(*node).contains(job.id)) {
    std::string told = "an attempt of it runs on node " + node->name;
    if (node->state != NodeState::kReady) told += ", which is " + std::string(ToString(node->state)) + ",";
    told +=
        " that the scheduler's store does not know, as after the restore of a backup: it starts when that attempt "
        "has ended, for both would write the same saves";
    return {BlockerKind::kOrphan, std::move(told), 0, 1, {}};
  }
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
  return words + "; " + StepOf(job.durable) + " is on " + NamesOfNodes(tables, nodes);
}

}  // namespace glim::core
