#include "sdk/hfreduce/tree/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

namespace glim::hfreduce {
namespace {

using Trees = std::vector<std::vector<TreePlace>>;

Trees BothTrees(const Topology& topology) { return {MakeTree(topology, 0), MakeTree(topology, 1)}; }

// Edges to the root, or more than there are nodes: a cycle.
std::uint32_t DepthOf(const std::vector<TreePlace>& tree, std::uint32_t node) {
  std::uint32_t depth = 0;
  while (tree[node].parent.has_value() && depth <= tree.size()) {
    node = *tree[node].parent;
    ++depth;
  }
  return depth;
}

// What every tree of every topology is: one root that all reach, and children that agree with parents.
void ExpectTree(const Topology& topology, const std::vector<TreePlace>& tree, std::uint32_t root,
                std::uint32_t depth_max) {
  std::size_t edges = 0;
  for (std::uint32_t node = 0; node < tree.size(); ++node) {
    EXPECT_EQ(tree[node].parent.has_value(), node != root);
    EXPECT_LE(DepthOf(tree, node), depth_max);
    EXPECT_LE(tree[node].children.size(), 2u);
    EXPECT_TRUE(std::is_sorted(tree[node].children.begin(), tree[node].children.end()));
    for (const std::uint32_t child : tree[node].children) EXPECT_EQ(tree[child].parent, node);
    edges += tree[node].children.size();
  }
  EXPECT_EQ(edges, topology.nodes.size() - 1);
}

void ExpectInnerAtMostOnce(const Topology& topology, const Trees& trees) {
  for (std::uint32_t node = 0; node < topology.nodes.size(); ++node) {
    if (node == topology.gateways.front() || node == topology.gateways.back()) continue;
    EXPECT_TRUE(trees[0][node].children.empty() || trees[1][node].children.empty()) << node;
  }
}

// Halves that a node sends and receives: each edge moves one up and one down.
void ExpectAtMostTwiceTheData(const Topology& topology, const Trees& trees) {
  for (std::uint32_t node = 0; node < topology.nodes.size(); ++node) {
    std::size_t halves = 0;
    for (const auto& tree : trees) halves += tree[node].children.size() + (tree[node].parent.has_value() ? 1 : 0);
    EXPECT_LE(halves, 4u) << node;
  }
}

void ExpectOneCrossingPair(const Topology& topology, const Trees& trees) {
  for (const auto& tree : trees) {
    std::uint32_t crossing = 0;
    for (std::uint32_t node = 0; node < tree.size(); ++node) {
      if (!tree[node].parent.has_value() || topology.nodes[node].zone == topology.nodes[*tree[node].parent].zone) {
        continue;
      }
      ++crossing;
      EXPECT_EQ(std::min(node, *tree[node].parent), topology.gateways[0]);
      EXPECT_EQ(std::max(node, *tree[node].parent), topology.gateways[1]);
    }
    EXPECT_EQ(crossing, 1u);
  }
}

std::uint32_t DepthMax(std::uint32_t larger_zone) { return 3 + std::bit_width(larger_zone) - 1; }

TEST(TreeTest, OneZoneOfUpTo80WithEveryGateway) {
  for (std::uint32_t size = 1; size <= 80; ++size) {
    for (std::uint32_t gateway = 0; gateway < size; gateway += size / 3 + 1) {
      Topology topology = EvenTopology({size}, 1);
      topology.gateways[0] = gateway;
      SCOPED_TRACE(::testing::Message() << size << " nodes, gateway " << gateway);
      const Trees trees = BothTrees(topology);
      for (const auto& tree : trees) ExpectTree(topology, tree, gateway, DepthMax(size));
      ExpectInnerAtMostOnce(topology, trees);
      ExpectAtMostTwiceTheData(topology, trees);
    }
  }
}

TEST(TreeTest, TwoZonesOfUpTo40Each) {
  for (std::uint32_t a = 1; a <= 40; ++a) {
    for (std::uint32_t b = 1; b <= 40; ++b) {
      Topology topology = EvenTopology({a, b}, 1);
      topology.gateways = {(a * 7 + b) % a, a + (b * 5 + a) % b};
      SCOPED_TRACE(::testing::Message() << a << " and " << b << " nodes");
      const Trees trees = BothTrees(topology);
      for (int tree = 0; tree < kTrees; ++tree) {
        ExpectTree(topology, trees[tree], topology.gateways[tree], DepthMax(std::max(a, b)));
      }
      ExpectInnerAtMostOnce(topology, trees);
      ExpectAtMostTwiceTheData(topology, trees);
      ExpectOneCrossingPair(topology, trees);
    }
  }
}

TEST(TreeTest, FourNodesAsDrawn) {
  //  tree 0      tree 1
  //     0           0
  //     2           1
  //    1 3         2 3
  const Trees trees = BothTrees(EvenTopology({4}, 1));
  EXPECT_EQ(trees[0][0].children, (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(trees[0][2].children, (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(trees[1][0].children, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(trees[1][1].children, (std::vector<std::uint32_t>{2, 3}));
}

}  // namespace
}  // namespace glim::hfreduce
