// The double binary tree (Sanders, Speck, Traeff: "Two-tree algorithms for full bandwidth broadcast, reduction and
// scan", Parallel Computing 35, 2009), shaped to zones: half of the data goes through each tree, and no node but a
// gateway is an inner one in both.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sdk/hfreduce/tree/topology.h"

namespace glim::hfreduce {

inline constexpr int kTrees = 2;

// A node's place in one tree. Children in the order in which they are added: lower index of node first.
struct TreePlace {
  std::optional<std::uint32_t> parent;
  std::vector<std::uint32_t> children;
};

// Of every node, in tree 0 or 1. The topology must be one that Check accepts. Zone 0's gateway is the root of tree 0,
// the last zone's of tree 1. Depth at most 3 + log2 of the larger zone.
std::vector<TreePlace> MakeTree(const Topology& topology, int tree);

}  // namespace glim::hfreduce
