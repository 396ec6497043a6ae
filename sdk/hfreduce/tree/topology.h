// Who takes part in a communicator, where, and what is reduced into whom.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/base/result.h"

namespace glim::hfreduce {

inline constexpr std::uint32_t kLocalRanksMax = 32;  // each has a place in the head of the shared segment
inline constexpr std::uint32_t kRanksMax = 1 << 16;  // what a message has room to name

struct NodePlace {
  std::uint32_t zone = 0;         // 0 or 1; the nodes of a zone follow each other
  std::uint32_t local_ranks = 1;  // processes on it, at least one
};

// Ranks are contiguous by node, nodes by zone. A value.
struct Topology {
  std::vector<NodePlace> nodes;
  std::vector<std::uint32_t> gateways;  // index in `nodes`, by zone: the only ones that exchange data across zones

  // INVALID_ARGUMENT that names the field: no node, zones not contiguous or more than two, a gateway that is not in its
  // zone, a node without ranks or with too many.
  Status Check() const;
  std::uint32_t ranks() const;
  std::uint32_t NodeOf(std::uint32_t rank) const;
  std::uint32_t FirstRankOf(std::uint32_t node) const;
  std::uint32_t zones() const { return static_cast<std::uint32_t>(gateways.size()); }
};

// One zone, its first node the gateway; or zones of these many nodes.
Topology EvenTopology(const std::vector<std::uint32_t>& nodes_by_zone, std::uint32_t local_ranks);

}  // namespace glim::hfreduce
