#include "scheduler/core/lifecycle/silence.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/lifecycle/health_act.h"
#include "scheduler/core/lifecycle/heard.h"
#include "scheduler/core/lifecycle/lemons.h"
#include "scheduler/core/lifecycle/node_loss.h"
#include "scheduler/core/lifecycle/probes.h"
#include "scheduler/core/lifecycle/suspicion.h"

namespace glim::core {
namespace {

// A refused node is no silent one: its agent speaks, in words that are not understood.
bool IsHeard(const Node& node) { return node.state == NodeState::kReady || node.state == NodeState::kRefused; }
bool IsJudged(const Node& node) { return node.state != NodeState::kLost && node.state != NodeState::kQuarantined; }
// An operator has taken it out and nobody is there: it may be switched off, and its silence is no sign of anything.
bool MayBeOff(const Node& node) { return node.cordon && node.cordon->by != kByHealth && !node.holder; }

void Lose(Changes& changes, NodeId id, const std::string& unreachable_by = "") {
  const bool off = MayBeOff(changes.node(id));
  const std::string unreached = unreachable_by.empty() ? "" : ", and its machine answers none of " + unreachable_by;
  SetNodeState(changes, id, NodeState::kLost, "nothing heard from its agent" + unreached);
  if (!off) Suspect(changes, id, "it was lost: nothing was heard from its agent");
  changes.Note(HistoryKind::kNodeLost, {}, id, changes.node(id).message);
  Abandon(changes, id, "node " + changes.node(id).name + " was lost");
}

// A leaf, or half of the cluster, is no node's fault: what is lost in an outage is not counted.
void LoseAlone(Changes& changes, NodeId id, const std::string& unreachable_by = "") {
  const bool off = MayBeOff(changes.node(id));
  const JobId failed = FailsWith(changes, id);
  Lose(changes, id, unreachable_by);
  if (!off) CountLoss(changes, id, failed);
}

struct SilentLeaf {
  TimePoint due;   // it is judged lost then
  TimePoint wake;  // and looked at: not before anybody else was heard
  std::vector<NodeId> nodes;
};

// Leaves of which nobody is heard, while a node of another leaf is.
std::vector<SilentLeaf> SilentLeaves(const ClusterState& state, const Policy& policy) {
  struct Leaf {
    SilentLeaf silent;
    bool heard = false;
  };
  std::map<std::pair<std::string, std::string>, Leaf> leaves;
  TimePoint heard;  // the newest word of anybody
  state.tables().nodes.ForEach([&](NodeId id, const Node& node) {
    if (!IsJudged(node)) return;
    Leaf& leaf = leaves[{node.labels.zone, node.labels.leaf}];
    leaf.silent.nodes.push_back(id);
    leaf.silent.due = std::max(leaf.silent.due, HeardAt(state, id) + policy.leaf_lost_after);
    if (!IsHeard(node)) return;
    leaf.heard = true;
    heard = std::max(heard, HeardAt(state, id));
  });
  std::vector<SilentLeaf> silent;
  for (auto& [name, leaf] : leaves) {
    if (!heard || leaf.heard) continue;
    leaf.silent.wake = std::max(leaf.silent.due, heard + Milliseconds(1));
    silent.push_back(std::move(leaf.silent));
  }
  return silent;
}

struct Silence {
  std::size_t judged = 0, silent = 0;  // without those that may be off
  std::vector<NodeId> overdue;
};

// Who has not been heard for long enough falls silent.
Silence LookForSilence(Changes& changes) {
  Silence found;
  std::vector<NodeId> all;
  changes.state().tables().nodes.ForEach([&](NodeId id, const Node& node) {
    if (IsJudged(node)) all.push_back(id);
  });
  for (const NodeId id : all) {
    const bool counts = !MayBeOff(changes.node(id));
    if (counts) ++found.judged;
    const Duration silence = changes.now() - HeardAt(changes.state(), id);
    if (IsHeard(changes.node(id)) && silence >= changes.policy().node_lost_after / 4) {
      FallSilent(changes, id, "nothing heard from its agent");
    }
    if (counts && changes.node(id).state == NodeState::kSilent) ++found.silent;
    if (silence >= changes.policy().node_lost_after) found.overdue.push_back(id);
  }
  return found;
}

// Who comes back last from an outage is not lost for that.
TimePoint GivenUpFrom(const ClusterState& state, const Policy& policy) {
  return state.outage_over ? state.outage_over + policy.node_lost_after / 4 : TimePoint{};
}

void SetOutage(Changes& changes, bool outage, std::size_t silent, const std::string& why) {
  changes.Note(outage ? HistoryKind::kOutageBegan : HistoryKind::kOutageEnded, {}, {}, why,
               {.nodes = static_cast<std::uint32_t>(silent)});
  changes.SetOutage(outage);
  changes.MarkDirty();
}

}  // namespace

void JudgeSilence(Changes& changes) {
  if (changes.state().silence_known && changes.state().silence_due && changes.now() < changes.state().silence_due)
    return;
  changes.ForgetSilence();
  changes.probing().news = {};
  const Silence found = LookForSilence(changes);
  ReviewProbes(changes);
  // All the silent count, not only the overdue: agents' last words lie up to a heartbeat apart, and so the first to
  // fall due is alone for a moment in every outage.
  const bool outage = !found.overdue.empty() && found.silent >= 2 &&
                      found.silent * 100 > found.judged * changes.policy().outage_percent;
  if (outage != changes.state().outage) SetOutage(changes, outage, found.silent, "");
  const std::vector<Unreachable> unreachable = FindUnreachable(changes);
  if (!outage) {
    if (changes.now() >= GivenUpFrom(changes.state(), changes.policy())) {
      for (const NodeId id : found.overdue) LoseAlone(changes, id);
    }
    for (const Unreachable& gone : unreachable) {
      if (IsJudged(changes.node(gone.node))) LoseAlone(changes, gone.node, gone.by);
    }
    if (!unreachable.empty()) ReviewProbes(changes);
    return;
  }
  for (const SilentLeaf& leaf : SilentLeaves(changes.state(), changes.policy())) {
    if (changes.now() < leaf.due) continue;
    for (const NodeId id : leaf.nodes) Lose(changes, id);
  }
}

TimePoint NextSilence(const ClusterState& state, const Policy& policy) {
  if (state.silence_known) return state.silence_due;
  TimePoint due = state.probing.news;
  const auto earliest = [&](TimePoint candidate) {
    if (candidate && (!due || candidate < due)) due = candidate;
  };
  for (const auto& [id, live] : state.liveness) {
    const Node* node = state.FindNode(id);
    if (!node || !IsJudged(*node)) continue;
    // In an outage the silent are judged again when those that are heard fall due.
    if (state.outage && node->state == NodeState::kSilent) continue;
    const TimePoint heard = HeardAt(state, id);
    earliest(IsHeard(*node) ? heard + policy.node_lost_after / 4
                            : std::max(heard + policy.node_lost_after, GivenUpFrom(state, policy)));
    earliest(ProbeDue(state, policy, id));
  }
  if (state.outage) {
    for (const SilentLeaf& leaf : SilentLeaves(state, policy)) earliest(leaf.wake);
  }
  state.silence_due = due;
  state.silence_known = true;
  return due;
}

void ApplyResolveOutage(Changes& changes) {
  JudgeSilence(changes);
  if (!changes.state().outage) {
    changes.reply().status = Status(StatusCode::kFailedPrecondition, "there is no outage")
                                 .WithReason("NO_OUTAGE")
                                 .WithFix("nothing is to be done: a node that stays silent is judged lost by itself");
    return;
  }
  const Silence found = LookForSilence(changes);
  SetOutage(changes, false, found.silent, "resolved by an operator: the silent are judged lost");
  for (const NodeId id : found.overdue) Lose(changes, id);
  changes.reply().nodes = static_cast<std::uint32_t>(found.overdue.size());
}

}  // namespace glim::core
