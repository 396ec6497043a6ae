#include "scheduler/core/planning/placement.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "sdk/base/check.h"

namespace glim::core {
namespace {

using Leaf = std::vector<const Candidate*>;
using Zone = std::map<std::uint32_t, Leaf>;  // by leaf

bool Healthier(const Candidate* a, const Candidate* b) {
  return std::tuple(a->suspect, !a->has_save, a->node) < std::tuple(b->suspect, !b->has_save, b->node);
}

std::map<std::uint32_t, Zone> Group(const std::vector<Candidate>& candidates) {
  std::map<std::uint32_t, Zone> zones;
  for (const Candidate& c : candidates) zones[c.zone][c.leaf].push_back(&c);
  for (auto& [zone, leaves] : zones) {
    for (auto& [leaf, nodes] : leaves) std::sort(nodes.begin(), nodes.end(), Healthier);
  }
  return zones;
}

std::size_t SizeOf(const Zone& zone) {
  std::size_t size = 0;
  for (const auto& [leaf, nodes] : zone) size += nodes.size();
  return size;
}

void TakeFrom(const Leaf& leaf, std::size_t count, std::vector<const Candidate*>& taken) {
  taken.insert(taken.end(), leaf.begin(), leaf.begin() + static_cast<std::ptrdiff_t>(count));
}

std::size_t SuspectsOf(const std::vector<const Candidate*>& taken) {
  return static_cast<std::size_t>(
      std::count_if(taken.begin(), taken.end(), [](const Candidate* c) { return c->suspect > 0; }));
}

// Fewest leaves: the largest first, and for the rest the smallest leaf that holds it.
std::vector<const Candidate*> TakeInZone(const Zone& zone, std::size_t count) {
  std::vector<const Leaf*> leaves;
  for (const auto& [id, leaf] : zone) leaves.push_back(&leaf);
  std::stable_sort(leaves.begin(), leaves.end(), [](const Leaf* a, const Leaf* b) {
    return a->size() != b->size() ? a->size() > b->size() : SuspectsOf(*a) < SuspectsOf(*b);
  });
  std::vector<const Candidate*> taken;
  for (auto it = leaves.begin(); it != leaves.end() && taken.size() < count; ++it) {
    const std::size_t rest = count - taken.size();
    if ((*it)->size() <= rest) {
      TakeFrom(**it, (*it)->size(), taken);
      continue;
    }
    // The last leaf: from here on the leaves get smaller, the last that still holds the rest fits best.
    auto best = it;
    while (std::next(best) != leaves.end() && (*std::next(best))->size() >= rest) ++best;
    TakeFrom(**best, rest, taken);
  }
  return taken;
}

std::vector<NodeId> RankOrder(std::vector<const Candidate*> taken) {
  std::sort(taken.begin(), taken.end(), [](const Candidate* a, const Candidate* b) {
    return std::tuple(a->zone, a->leaf, a->node) < std::tuple(b->zone, b->leaf, b->node);
  });
  std::vector<NodeId> nodes;
  nodes.reserve(taken.size());
  for (const Candidate* c : taken) nodes.push_back(c->node);
  return nodes;
}

std::size_t LeavesOf(const std::vector<const Candidate*>& taken) {
  std::vector<std::uint32_t> leaves;
  for (const Candidate* c : taken) leaves.push_back(c->leaf);
  std::sort(leaves.begin(), leaves.end());
  return static_cast<std::size_t>(std::unique(leaves.begin(), leaves.end()) - leaves.begin());
}

}  // namespace

std::vector<NodeId> Place(const std::vector<Candidate>& candidates, std::uint32_t nodes, const MayCrossFn& may_cross) {
  if (candidates.size() < nodes || nodes == 0) return {};
  const auto zones = Group(candidates);
  // (suspects, leaves, whether all of the save is copied, what the leaf or zone is left with): the least wins, the
  // first of equals.
  std::optional<std::tuple<std::size_t, std::size_t, bool, std::size_t>> best_cost;
  std::vector<const Candidate*> best;
  const auto consider = [&](std::vector<const Candidate*> taken, std::size_t leaves, std::size_t left) {
    const bool has_save = std::any_of(taken.begin(), taken.end(), [](const Candidate* c) { return c->has_save; });
    const std::tuple cost(SuspectsOf(taken), leaves, !has_save, left);
    if (best_cost && *best_cost <= cost) return;
    best_cost = cost;
    best = std::move(taken);
  };
  for (const auto& [id, zone] : zones) {
    if (SizeOf(zone) < nodes) continue;
    for (const auto& [leaf_id, leaf] : zone) {
      if (leaf.size() < nodes) continue;
      std::vector<const Candidate*> taken;
      TakeFrom(leaf, nodes, taken);
      consider(std::move(taken), 1, leaf.size() - nodes);
    }
    std::vector<const Candidate*> taken = TakeInZone(zone, nodes);
    const std::size_t leaves = LeavesOf(taken);
    if (leaves > 1) consider(std::move(taken), leaves, SizeOf(zone) - nodes);
  }
  if (best_cost) return RankOrder(std::move(best));
  if (!may_cross) return {};
  for (auto a = zones.begin(); a != zones.end(); ++a) {
    for (auto b = std::next(a); b != zones.end(); ++b) {
      const std::size_t size_a = SizeOf(a->second), size_b = SizeOf(b->second);
      if (size_a + size_b < nodes || !may_cross(a->first, b->first)) continue;
      // All of the larger side, so that the smaller one keeps what it can.
      const std::size_t from_a = size_a >= size_b ? std::min<std::size_t>(size_a, nodes - 1)
                                                  : nodes - std::min<std::size_t>(size_b, nodes - 1);
      std::vector<const Candidate*> taken = TakeInZone(a->second, from_a);
      const auto rest = TakeInZone(b->second, nodes - from_a);
      taken.insert(taken.end(), rest.begin(), rest.end());
      const std::size_t leaves = LeavesOf(taken);
      consider(std::move(taken), leaves, size_a + size_b - nodes);
    }
  }
  return RankOrder(std::move(best));
}

std::vector<NodeId> TakeCheapest(std::vector<Candidate> candidates, std::uint32_t nodes) {
  GLIM_CHECK(candidates.size() >= nodes, "not enough candidates to take from");
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.tier, a.suspect, !a.has_save, a.zone, a.leaf, a.node) <
           std::tuple(b.tier, b.suspect, !b.has_save, b.zone, b.leaf, b.node);
  });
  std::vector<const Candidate*> taken;
  for (std::uint32_t i = 0; i < nodes; ++i) taken.push_back(&candidates[i]);
  return RankOrder(std::move(taken));
}

}  // namespace glim::core
