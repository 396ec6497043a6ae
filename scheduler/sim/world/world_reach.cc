// Machines that are cut off from all others or from some, and what their neighbours' probes find. A cable that is
// pulled ends no stream: the scheduler has to notice by itself.
#include <utility>

#include "scheduler/core/lifecycle/probes.h"
#include "scheduler/sim/world/world.h"

namespace glim::sim {

using core::NodeId;

// Nothing is heard of the machine, and it reaches nobody; its tasks are at work.
void World::CutOff(NodeId node, Duration away) {
  if (!agents_.at(node)->session() || reach_.IsOff(node)) return;
  ++report_.cut_off;
  reach_.Off(node, timeline_.now());
  SetSession(node, 0);
  if (reach_rng_.OneIn(2)) agents_.at(node)->LoseContact();  // else it is over before anybody gives up
  timeline_.After(away, [this, node] {
    reach_.On(node, timeline_.now());
    if (!agents_.at(node)->session()) Connect(node);
  });
}

// The network between nodes fails at this one; the scheduler's does not.
void World::Deafen(NodeId node, Duration lasts) {
  reach_.Deaf(node, timeline_.now());
  if (reach_rng_.OneIn(4)) agents_.at(node)->LoseContact();
  timeline_.After(lasts, [this, node] { reach_.Hears(node); });
}

void World::ReachActs() {
  if (healing_) return;
  const NodeId node(static_cast<std::uint32_t>(reach_rng_.Between(1, static_cast<std::int64_t>(agents_.size()))));
  if (reach_rng_.OneIn(3)) {
    for (const auto& [other, agent] : agents_) {
      if (reach_rng_.OneIn(2)) Deafen(other, Seconds(reach_rng_.Between(10, 120)));
    }
  } else {
    CutOff(node, Milliseconds(reach_rng_.OneIn(2) ? reach_rng_.Between(10, 5000) : reach_rng_.Between(5000, 200'000)));
  }
  timeline_.After(Seconds(reach_rng_.Between(5, 90)), [this] { ReachActs(); });
}

void World::AskToReach(NodeId node, const std::vector<NodeId>& targets) {
  const bool was_asked = reach_.IsAsked(node);
  if (reach_.Ask(node, targets, timeline_.now()) && !was_asked) TellReached(node);
}

// Each second as long as it is asked, which is finer than agents are.
void World::TellReached(NodeId node) {
  if (!reach_.IsAsked(node)) return;
  agents_.at(node)->Changed();
  timeline_.After(Seconds(1), [this, node] { TellReached(node); });
}

// A cut fails no job: whose ranks have lost contact with each other, and have not failed otherwise, goes on.
void World::SeeFailed(const core::Attempt& row) {
  if (row.outcome != core::Outcome::kFailed || row.message.find(kLostContact) == std::string::npos) return;
  if (row.message.find(" times in a row ") != std::string::npos || scripts_.at(row.id.job).fails_at_step >= 0) return;
  Violation("attempt " + ToString(row.id) + " failed by a cut: " + row.message);
}

void World::SeeLost(const core::HistoryEntry& entry) {
  if (entry.kind != core::HistoryKind::kNodeLost || entry.text.find("answers none of") == std::string::npos) return;
  ++report_.lost_by_probes;
  if (reach_.OffFor(entry.node, timeline_.now()) < core::UnreachableAfter(policy_)) {
    Violation("node " + std::to_string(entry.node.value) + " was called lost, and others could reach it");
  }
}

}  // namespace glim::sim
