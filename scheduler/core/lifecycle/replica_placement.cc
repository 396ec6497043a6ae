#include "scheduler/core/lifecycle/replica_placement.h"

#include <algorithm>
#include <compare>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace glim::core {
namespace {

struct Neighbour {
  std::uint32_t copies = 0;
  std::uint32_t turn = 0;
  NodeId id;
  friend auto operator<=>(const Neighbour&, const Neighbour&) = default;
};

// Neighbours by leaf, the least in front. The least on any other leaf is one of the least two of the first ones.
class NeighbourSet {
 public:
  struct Place {
    std::size_t leaf;
    std::size_t at;
  };

  // The leaves come in the order of their names.
  void Add(const std::string& name, std::vector<Neighbour> neighbours) {
    if (neighbours.empty()) return;
    std::sort(neighbours.begin(), neighbours.end());
    firsts_.emplace(neighbours.front(), leaves_.size());
    leaves_.push_back({&name, std::move(neighbours)});
  }

  // The least on the node's own leaf, or on another one: never the node.
  std::optional<Place> Least(const Node& node, bool same_leaf) const {
    if (!same_leaf) {
      for (const auto& first : firsts_) {
        if (*leaves_[first.second].name != node.labels.leaf) return Place{first.second, 0};
      }
      return std::nullopt;
    }
    const auto by_name = [](const Leaf& leaf, const std::string& name) { return *leaf.name < name; };
    const auto leaf = std::lower_bound(leaves_.begin(), leaves_.end(), node.labels.leaf, by_name);
    if (leaf == leaves_.end() || *leaf->name != node.labels.leaf) return std::nullopt;
    const std::size_t at = leaf->neighbours.front().id == node.id ? 1 : 0;
    if (at == leaf->neighbours.size()) return std::nullopt;
    return Place{static_cast<std::size_t>(leaf - leaves_.begin()), at};
  }

  const Neighbour& At(Place place) const { return leaves_[place.leaf].neighbours[place.at]; }

  // It holds one more.
  void Burden(Place place) {
    std::vector<Neighbour>& neighbours = leaves_[place.leaf].neighbours;
    firsts_.erase({neighbours.front(), place.leaf});
    const auto from = neighbours.begin() + static_cast<std::ptrdiff_t>(place.at);
    Neighbour burdened = *from;
    ++burdened.copies;
    const auto to = std::lower_bound(from + 1, neighbours.end(), burdened);
    std::move(from + 1, to, from);
    *(to - 1) = burdened;
    firsts_.emplace(neighbours.front(), place.leaf);
  }

 private:
  struct Leaf {
    const std::string* name;            // the index's, of the state
    std::vector<Neighbour> neighbours;  // never empty
  };

  std::vector<Leaf> leaves_;
  std::set<std::pair<Neighbour, std::size_t>> firsts_;
};

// Fibonacci hashing: nodes with numbers in a row come far apart, and each job begins somewhere else.
std::uint32_t Turn(JobId job, NodeId node) {
  constexpr std::uint32_t kGoldenRatio = 2654435769u;
  return (node.value + static_cast<std::uint32_t>(job.value) * kGoldenRatio) * kGoldenRatio;
}

// What one zone has to offer to one attempt.
class ZoneServices {
 public:
  // `gang` are the attempt's nodes, ascending; `wanted` is how many copies it wants in this zone.
  ZoneServices(const Index& index, const std::string& zone, JobId job, const std::vector<NodeId>& gang,
               std::size_t wanted) {
    std::size_t copies = wanted, services = 0;
    for (auto leaf = index.replica_services.lower_bound({zone, ""});
         leaf != index.replica_services.end() && leaf->first.first == zone; ++leaf) {
      std::vector<Neighbour> others, own;
      for (const NodeId id : leaf->second) {
        const auto held = index.replica_copies.find(id);
        const Neighbour neighbour{held == index.replica_copies.end() ? 0 : held->second, Turn(job, id), id};
        copies += neighbour.copies;
        (std::binary_search(gang.begin(), gang.end(), id) ? own : others).push_back(neighbour);
      }
      services += leaf->second.size();
      others_.Add(leaf->first.second, std::move(others));
      own_.Add(leaf->first.second, std::move(own));
    }
    if (services > 0) share_ = static_cast<std::uint32_t>((copies + services - 1) / services);
  }

  NodeId Take(const Node& node) {
    for (const std::uint32_t most : {share_ + 1, std::numeric_limits<std::uint32_t>::max()}) {
      for (NeighbourSet* neighbours : {&others_, &own_}) {
        for (const bool same_leaf : {false, true}) {
          const auto place = neighbours->Least(node, same_leaf);
          if (!place || neighbours->At(*place).copies >= most) continue;
          const NodeId id = neighbours->At(*place).id;
          neighbours->Burden(*place);
          return id;
        }
      }
    }
    return {};
  }

 private:
  NeighbourSet others_;
  NeighbourSet own_;
  std::uint32_t share_ = 0;  // of the zone's copies, this attempt's included
};

}  // namespace

std::vector<NodeId> PlaceReplicas(const ClusterState& state, JobId job, const std::vector<NodeId>& nodes) {
  const Index& index = state.index();
  if (index.replica_services.empty()) return {};
  std::map<std::string, std::size_t> wanted;  // by zone
  for (const NodeId id : nodes) ++wanted[state.FindNode(id)->labels.zone];
  std::vector<NodeId> gang = nodes;
  std::sort(gang.begin(), gang.end());
  std::map<std::string, ZoneServices> zones;
  for (const auto& [zone, copies] : wanted) zones.try_emplace(zone, index, zone, job, gang, copies);
  std::vector<NodeId> replicas(nodes.size());
  bool any = false;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    const Node& node = *state.FindNode(nodes[rank]);
    replicas[rank] = zones.at(node.labels.zone).Take(node);
    any = any || replicas[rank];
  }
  return any ? replicas : std::vector<NodeId>();
}

}  // namespace glim::core
