#include "sdk/hfreduce/tree/topology.h"

#include "sdk/base/check.h"

namespace glim::hfreduce {
namespace {

std::string Element(const char* list, std::size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

}  // namespace

Status Topology::Check() const {
  if (nodes.empty()) return InvalidArgument("nodes", "there is no node");
  std::uint64_t ranks = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodePlace& node = nodes[i];
    const std::string field = Element("nodes", i);
    if (node.local_ranks == 0 || node.local_ranks > kLocalRanksMax) {
      return InvalidArgument(field + ".local_ranks", "a node has 1 to " + std::to_string(kLocalRanksMax) +
                                                         " ranks, not " + std::to_string(node.local_ranks));
    }
    ranks += node.local_ranks;
    if (node.zone > 1) return InvalidArgument(field + ".zone", "there are at most two zones, 0 and 1");
    if (i == 0 ? node.zone != 0 : node.zone < nodes[i - 1].zone) {
      return InvalidArgument(field + ".zone", "the nodes of zone 0 come first, then those of zone 1");
    }
  }
  if (ranks > kRanksMax) {
    return InvalidArgument("nodes", std::to_string(ranks) + " ranks are too many",
                           "use at most " + std::to_string(kRanksMax));
  }
  const std::size_t zones = nodes.back().zone + 1;
  if (gateways.size() != zones) {
    return InvalidArgument("gateways",
                           std::to_string(zones) + " zones have " + std::to_string(gateways.size()) + " gateways",
                           "name one for each zone");
  }
  for (std::size_t zone = 0; zone < zones; ++zone) {
    if (gateways[zone] >= nodes.size() || nodes[gateways[zone]].zone != zone) {
      return InvalidArgument(Element("gateways", zone),
                             "node " + std::to_string(gateways[zone]) + " is not in zone " + std::to_string(zone));
    }
  }
  return Status::Ok();
}

std::uint32_t Topology::ranks() const {
  std::uint32_t sum = 0;
  for (const NodePlace& node : nodes) sum += node.local_ranks;
  return sum;
}

std::uint32_t Topology::NodeOf(std::uint32_t rank) const {
  for (std::uint32_t node = 0; node < nodes.size(); ++node) {
    if (rank < nodes[node].local_ranks) return node;
    rank -= nodes[node].local_ranks;
  }
  GLIM_CHECK(false, "no such rank");
}

std::uint32_t Topology::FirstRankOf(std::uint32_t node) const {
  std::uint32_t rank = 0;
  for (std::uint32_t i = 0; i < node; ++i) rank += nodes[i].local_ranks;
  return rank;
}

Topology EvenTopology(const std::vector<std::uint32_t>& nodes_by_zone, std::uint32_t local_ranks) {
  Topology topology;
  for (std::uint32_t zone = 0; zone < nodes_by_zone.size(); ++zone) {
    topology.gateways.push_back(static_cast<std::uint32_t>(topology.nodes.size()));
    topology.nodes.insert(topology.nodes.end(), nodes_by_zone[zone], NodePlace{zone, local_ranks});
  }
  return topology;
}

}  // namespace glim::hfreduce
