#include "nodeagent/devices/rank_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nodeagent/devices/testing/fake_node.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::nodeagent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Numbers = std::vector<std::uint32_t>;

// "0,1|2,3|-": the CPUs of each rank, "-" where it is not bound; with "@N" the NUMA node whose memory it takes first.
std::string InWords(const std::vector<RankPlace>& places) {
  std::string text;
  for (const RankPlace& place : places) {
    text += text.empty() ? "" : "|";
    if (place.cpus.empty()) text += "-";
    for (std::size_t i = 0; i < place.cpus.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(place.cpus[i]);
    for (const std::uint32_t node : place.memory) text += "@" + std::to_string(node);
  }
  return text;
}

TEST(PlaceRanks, RunEachRankBesideItsGpu) {
  const NumaNode left{0, {0, 1}}, right{1, {2, 3}}, far{7, {8}};
  struct Case {
    const char* what;
    std::vector<NumaNode> nodes;
    std::vector<std::int64_t> gpus;
    PlaceWishes wishes;
    const char* places;
  };
  const Case cases[] = {
      {"two sockets with two GPUs each", {left, right}, {0, 0, 1, 1}, {4, 0, {}}, "0,1@0|0,1@0|2,3@1|2,3@1"},
      {"numbers of NUMA nodes need not be dense", {left, far}, {7, 0}, {2, 0, {}}, "8@7|0,1@0"},
      {"one socket", {left}, {0, 0}, {2, 0, {}}, "-|-"},
      {"a GPU of unknown place", {left, right}, {0, -1, 1}, {3, 0, {}}, "0,1@0|-|2,3@1"},
      {"a place that has no CPUs", {left, right}, {3, 1}, {2, 0, {}}, "-|2,3@1"},
      {"fewer GPUs seen than ranks", {left, right}, {0}, {2, 0, {}}, "-|-"},
      {"no GPU seen", {left, right}, {}, {2, 0, {}}, "-|-"},
      {"fewer ranks than GPUs", {left, right}, {0, 1, 1}, {2, 0, {}}, "0,1@0|2,3@1"},
      {"a limit that they can use", {left, right}, {0, 1}, {2, 4000, {}}, "0,1@0|2,3@1"},
      {"all GPUs at one socket, and no limit", {left, right}, {1, 1}, {2, 0, {}}, "2,3@1|2,3@1"},
      {"all GPUs at one socket, and a limit within it", {left, right}, {1, 1}, {2, 2000, {}}, "2,3@1|2,3@1"},
      {"all GPUs at one socket, and a job that wants more CPUs", {left, right}, {1, 1}, {2, 2500, {}}, "-|-"},
      {"an agent that may use some CPUs", {left, right}, {0, 1}, {2, 0, {1, 2}}, "1@0|2@1"},
      {"an agent that may use none there", {left, right}, {0, 1}, {2, 0, {0, 1}}, "0,1@0|-"},
  };
  for (const Case& c : cases) EXPECT_EQ(InWords(PlaceRanks({c.nodes, c.gpus}, c.wishes)), c.places) << c.what;
}

TEST(ReadTopology, IsWhatTheKernelSays) {
  TempFolder folder;
  const FakeNode node(folder.path());
  node.AddNumaNode(0, "0-1,4");
  node.AddNumaNode(1, "2-3");
  node.AddNumaNode(2, "");  // memory alone
  node.AddGpu(1, 0);
  node.AddGpu(0, 1);
  node.AddGpu(2, -1);
  const NodeTopology topology = ReadTopology(node.root());
  ASSERT_EQ(topology.nodes.size(), 2u);
  EXPECT_THAT(topology.nodes[0].cpus, ElementsAre(0, 1, 4));
  EXPECT_EQ(topology.nodes[1].id, 1u);
  EXPECT_THAT(topology.gpus, ElementsAre(1, 0, -1)) << "by PCI address";
}

TEST(ReadTopology, OfThisMachineHasTheCpusThatATestMayUse) {
  const NodeTopology topology = ReadTopology("");
  ASSERT_FALSE(topology.nodes.empty());
  Numbers all;
  for (const NumaNode& node : topology.nodes) all.insert(all.end(), node.cpus.begin(), node.cpus.end());
  for (const std::uint32_t cpu : AllowedCpus()) EXPECT_THAT(all, ::testing::Contains(cpu));
}

TEST(ParseCpuList, TakesRangesAndNothingElse) {
  EXPECT_THAT(ParseCpuList("0-2,8,5\n"), ElementsAre(0, 1, 2, 5, 8));
  EXPECT_THAT(ParseCpuList("1023"), ElementsAre(1023));
  for (const char* text : {"", "\n", "a", "1-", "-1", "1024", "0-99999", "3-a", "0x1"}) {
    EXPECT_THAT(ParseCpuList(text), IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace glim::nodeagent
