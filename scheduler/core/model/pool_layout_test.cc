#include "scheduler/core/model/pool_layout.h"

#include <gtest/gtest.h>

namespace glim::core {
namespace {

Node At(std::uint32_t id, const std::string& pool, const std::string& zone, const std::string& leaf) {
  Node node;
  node.id = NodeId(id);
  node.labels.pool = pool;
  node.labels.zone = zone;
  node.labels.leaf = leaf;
  return node;
}

Layouts Of(const std::vector<Node>& nodes) {
  std::vector<const Node*> pointers;
  for (const Node& node : nodes) pointers.push_back(&node);
  return MakeLayouts(pointers);
}

TEST(PoolLayout, NumbersFollowNamesAndNoTwoZonesShareALeaf) {
  const Layouts layouts =
      Of({At(1, "p", "B", "l1"), At(2, "p", "A", "l1"), At(3, "q", "A", "l0"), At(4, "p", "A", "l1")});
  EXPECT_EQ(layouts.zone_names, (std::vector<std::string>{"A", "B"}));
  const PoolLayout& p = layouts.pools.at("p");
  EXPECT_EQ(p.nodes, (std::vector<NodeId>{NodeId(1), NodeId(2), NodeId(4)}));
  EXPECT_EQ(p.zones, (std::vector<std::uint32_t>{1, 0, 0}));
  EXPECT_EQ(p.leaves, (std::vector<std::uint32_t>{2, 1, 1}));
  EXPECT_EQ(layouts.pools.at("q").leaves, (std::vector<std::uint32_t>{0}));
}

TEST(PoolLayout, FindsItsNodesAlsoWhereNumbersAreMissing) {
  const Layouts layouts = Of({At(3, "p", "A", "l"), At(4, "p", "A", "l"), At(9, "p", "A", "l"), At(11, "p", "A", "l")});
  const PoolLayout& p = layouts.pools.at("p");
  for (std::size_t i = 0; i < p.nodes.size(); ++i) EXPECT_EQ(p.IndexOf(p.nodes[i]), i);
}

TEST(PoolLayout, HasNoPlaceForANodeThatIsElsewhere) {
  const Layouts layouts = Of({At(3, "p", "A", "l"), At(5, "p", "A", "l"), At(4, "q", "A", "l"), At(9, "q", "A", "l")});
  const PoolLayout& p = layouts.pools.at("p");
  for (const std::uint32_t stranger : {1u, 2u, 4u, 6u, 9u, 4'000'000'000u}) {
    EXPECT_EQ(p.IndexOf(NodeId(stranger)), std::nullopt) << stranger;
  }
  EXPECT_EQ(PoolLayout().IndexOf(NodeId(1)), std::nullopt);
}

TEST(PoolLayout, CountsNodesOfAKindOverLeaves) {
  std::vector<Node> nodes = {At(1, "p", "A", "l1"), At(2, "p", "A", "l2"), At(3, "p", "B", "l1")};
  nodes.push_back(At(4, "p", "A", "l1"));
  nodes.back().labels.gpu_type = "other";
  const auto kinds = Of(nodes).pools.at("p").kinds;
  ASSERT_EQ(kinds.size(), 3u);
  EXPECT_EQ(kinds[0].nodes, 2u);
}

TEST(PoolLayout, KnowsWhichFoldersItsNodesGive) {
  std::vector<Node> nodes = {At(1, "p", "A", "l1"), At(2, "p", "A", "l2"), At(3, "p", "A", "l1")};
  nodes[0].allowed_folders = nodes[2].allowed_folders = {"/data"};
  const PoolLayout p = Of(nodes).pools.at("p");
  EXPECT_EQ(p.folder_lists, (std::vector<std::vector<std::string>>{{"/data"}, {}}));
  EXPECT_EQ(p.folders, (std::vector<std::uint32_t>{0, 1, 0}));
  ASSERT_EQ(p.kinds.size(), 2u);
  EXPECT_EQ(p.kinds[0].nodes, 2u);
  EXPECT_EQ(p.kinds[1].folders, 1u);
}

}  // namespace
}  // namespace glim::core
