#include "sdk/hfreduce/tree/topology.h"

#include <gtest/gtest.h>

namespace glim::hfreduce {
namespace {

TEST(TopologyTest, RanksAreContiguousByNode) {
  Topology topology = EvenTopology({2, 1}, 1);
  topology.nodes[1].local_ranks = 3;
  ASSERT_TRUE(topology.Check().ok());
  EXPECT_EQ(topology.zones(), 2u);
  EXPECT_EQ(topology.gateways, (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(topology.ranks(), 5u);
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t rank = 0; rank < 5; ++rank) nodes.push_back(topology.NodeOf(rank));
  EXPECT_EQ(nodes, (std::vector<std::uint32_t>{0, 1, 1, 1, 2}));
  EXPECT_EQ(topology.FirstRankOf(2), 4u);
}

struct Refused {
  const char* field;
  Topology topology;
};

TEST(TopologyTest, CheckNamesTheFieldThatIsWrong) {
  const std::vector<Refused> refused = {
      {"nodes", {}},
      {"nodes[1].local_ranks", {.nodes = {{0, 1}, {0, 0}}, .gateways = {0}}},
      {"nodes[0].local_ranks", {.nodes = {{0, kLocalRanksMax + 1}}, .gateways = {0}}},
      {"nodes", EvenTopology({kRanksMax / kLocalRanksMax + 1}, kLocalRanksMax)},
      {"nodes[1].zone", {.nodes = {{0, 1}, {2, 1}}, .gateways = {0, 1}}},
      {"nodes[0].zone", {.nodes = {{1, 1}, {1, 1}}, .gateways = {0}}},
      {"nodes[2].zone", {.nodes = {{0, 1}, {1, 1}, {0, 1}}, .gateways = {0, 1}}},
      {"gateways", {.nodes = {{0, 1}, {1, 1}}, .gateways = {0}}},
      {"gateways", {.nodes = {{0, 1}}, .gateways = {}}},
      {"gateways[1]", {.nodes = {{0, 1}, {1, 1}}, .gateways = {0, 0}}},
      {"gateways[0]", {.nodes = {{0, 1}}, .gateways = {7}}},
  };
  for (const Refused& wrong : refused) {
    const Status status = wrong.topology.Check();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << wrong.field;
    EXPECT_EQ(status.field(), wrong.field) << status.message();
  }
  EXPECT_TRUE(EvenTopology({40, 40}, kLocalRanksMax).Check().ok());
}

}  // namespace
}  // namespace glim::hfreduce
