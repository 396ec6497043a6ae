#include "scheduler/core/planning/reserved_share.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "scheduler/core/planning/victims.h"

namespace glim::core {
namespace {

// What it takes to have it free.
enum class Ease { kOwn, kFree, kEmptying, kHeld, kOut };
constexpr std::size_t kEases = 5;

// An operator has taken it out, or something is wrong with it: nobody counts on it. A silent one may be back soon.
bool IsOut(const Node& node) {
  return node.cordon || !node.fault.empty() || !node.hardware_differs.empty() || node.state == NodeState::kLost ||
         node.state == NodeState::kQuarantined || node.state == NodeState::kRefused;
}

class ShareChooser {
 public:
  ShareChooser(const ClusterState& state, const Policy& policy, TimePoint now, const Reservation& row)
      : state_(state), policy_(policy), now_(now), row_(row) {}

  // Those that are easiest to have now, of equals the last: every pass asks, and nothing is compared.
  std::vector<NodeId> Likely(const std::set<NodeId>& taken) const {
    std::vector<NodeId> by_ease[kEases];
    const auto pool = state_.index().nodes_by_pool.find(row_.pool);
    if (pool == state_.index().nodes_by_pool.end()) return {};
    for (const NodeId id : pool->second) {
      if (!taken.contains(id)) by_ease[static_cast<std::size_t>(EaseOf(*state_.FindNode(id)))].push_back(id);
    }
    std::vector<NodeId> chosen;
    for (std::vector<NodeId>& nodes : by_ease) {
      std::reverse(nodes.begin(), nodes.end());
      Take(nodes, chosen);
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }

  std::vector<NodeId> Choose(const std::set<NodeId>& taken) {
    Gather(taken);
    std::vector<NodeId> chosen;
    Take(kept_, chosen);
    const auto cheap = std::find_if(loose_.begin(), loose_.end(), [](const Loose& l) { return l.ease >= Ease::kHeld; });
    for (auto it = loose_.begin(); it != cheap; ++it) TakeOne(it->id, chosen);
    if (chosen.size() < row_.share) TakeHeld(chosen);
    Take(kept_out_, chosen);
    for (const Loose& l : loose_) {
      if (l.ease == Ease::kOut) TakeOne(l.id, chosen);
    }
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }

 private:
  struct Loose {
    Ease ease;
    std::size_t fewer_free;  // than the zone with the most: a gang is better off in one zone
    NodeId id;
    const Node* node;
    auto Key() const { return std::tie(ease, fewer_free, node->labels.zone, node->labels.leaf, id); }
  };

  Ease EaseOf(const Node& node) const {
    if (!IsUsable(node)) return Ease::kOut;
    const Attempt* holder = state_.FindAttempt(node.holder ? node.holder : node.claim);
    if (!holder) return Ease::kFree;
    if (IsOf(row_, state_.FindJob(holder->id.job)->team)) return Ease::kOwn;
    const bool leaves =
        holder->stop != StopCause::kNone || holder->open_agreement() || holder->state == AttemptState::kClaimed;
    return leaves ? Ease::kEmptying : Ease::kHeld;
  }

  void Gather(const std::set<NodeId>& taken) {
    const auto pool = state_.index().nodes_by_pool.find(row_.pool);
    if (pool == state_.index().nodes_by_pool.end()) return;
    const auto is_kept = [&](NodeId id) { return HasNode(row_, id); };
    for (const NodeId id : pool->second) {
      if (!is_kept(id) || taken.contains(id)) continue;
      (IsOut(*state_.FindNode(id)) ? kept_out_ : kept_).push_back(id);
    }
    if (kept_.size() >= row_.share) return;
    std::map<std::string, std::size_t> free;
    std::size_t most = 0;
    for (const NodeId id : pool->second) {
      if (is_kept(id) || taken.contains(id)) continue;
      const Node& node = *state_.FindNode(id);
      const Ease ease = EaseOf(node);
      loose_.push_back({ease, 0, id, &node});
      if (ease == Ease::kFree) most = std::max(most, ++free[node.labels.zone]);
    }
    for (Loose& l : loose_) {
      const auto of_zone = free.find(l.node->labels.zone);
      l.fewer_free = most - (of_zone == free.end() ? 0 : of_zone->second);
    }
    std::sort(loose_.begin(), loose_.end(), [](const Loose& a, const Loose& b) { return a.Key() < b.Key(); });
  }

  void TakeOne(NodeId id, std::vector<NodeId>& chosen) const {
    if (chosen.size() < row_.share) chosen.push_back(id);
  }
  void Take(const std::vector<NodeId>& nodes, std::vector<NodeId>& chosen) const {
    for (const NodeId id : nodes) TakeOne(id, chosen);
  }

  // Whoever loses one of its nodes loses them all: whole gangs, the cheapest.
  void TakeHeld(std::vector<NodeId>& chosen) const {
    std::map<AttemptId, std::vector<NodeId>> held;
    for (const Loose& l : loose_) {
      if (l.ease == Ease::kHeld) held[l.node->holder].push_back(l.id);
    }
    std::vector<VictimOption> options;
    for (const auto& [id, nodes] : held) {
      const Attempt& attempt = *state_.FindAttempt(id);
      const std::int64_t cost = PreemptionCostOf(state_, policy_, attempt, now_);
      const PriorityClass priority = attempt.borrowed ? PriorityClass::kLow : attempt.charged;
      options.push_back({id, priority, attempt.borrowed, cost, static_cast<std::uint32_t>(nodes.size())});
    }
    const auto victims = ChooseVictims(options, row_.share - static_cast<std::uint32_t>(chosen.size()));
    if (victims) {
      for (const AttemptId id : victims->victims) Take(held.at(id), chosen);
    } else {
      for (const auto& [id, nodes] : held) Take(nodes, chosen);
    }
  }

  const ClusterState& state_;
  const Policy& policy_;
  const TimePoint now_;
  const Reservation& row_;
  std::vector<NodeId> kept_, kept_out_;
  std::vector<Loose> loose_;
};

}  // namespace

std::vector<NodeId> ChooseShare(const ClusterState& state, const Policy& policy, TimePoint now, const Reservation& row,
                                const std::set<NodeId>& taken, bool exact) {
  ShareChooser chooser(state, policy, now, row);
  return exact ? chooser.Choose(taken) : chooser.Likely(taken);
}

}  // namespace glim::core
