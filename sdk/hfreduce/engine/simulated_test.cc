// Thousands of orders in which chunks, messages, credits and completions may come: the result is exact, and its bits
// are those that the trees say, whatever the order.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "sdk/base/testing/seeds.h"
#include "sdk/hfreduce/engine/testing/sim_cluster.h"

namespace glim::hfreduce {
namespace {

constexpr Chunking kManyChunks{.split = 96, .elements = 201, .chunk_elements = 8};

PlannedOperation Planned(Collective kind, DType type, const Chunking& chunking, std::uint32_t root = 0) {
  return {.signature = {.kind = kind, .type = type, .root = root, .count = chunking.elements}, .chunking = chunking};
}

PlannedOperation Direct(DType type, std::size_t elements) {
  PlannedOperation planned = Planned(Collective::kAllReduce, type, OneChunk(elements));
  planned.direct = true;
  return planned;
}

template <typename T>
std::vector<T> Values(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template <typename T>
constexpr DType kType = std::is_same_v<T, float> ? DType::kF32 : DType::kI32;

template <typename T>
void Add(std::vector<T>* sum, const std::vector<T>& part) {
  if (sum->empty()) *sum = std::vector<T>(part.size(), T{0});
  for (std::size_t i = 0; i < part.size(); ++i) (*sum)[i] += part[i];
}

template <typename T>
std::vector<T> OfNode(const Topology& topology, std::size_t count, std::size_t operation, NodeIndex node) {
  std::vector<T> sum = Values<T>(SimInput(kType<T>, count, operation, node, 0));
  for (std::uint32_t p = 1; p < topology.nodes[node].local_ranks; ++p) {
    Add(&sum, Values<T>(SimInput(kType<T>, count, operation, node, p)));
  }
  return sum;
}

// The node's part and those of all nodes away from the root: local ranks, lower neighbour, higher.
template <typename T>
std::vector<T> Subtree(SimCluster& cluster, const Topology& topology, std::size_t count, std::size_t operation,
                       int tree, std::optional<NodeIndex> root, NodeIndex node) {
  std::vector<T> sum = OfNode<T>(topology, count, operation, node);
  for (const TreeEdge& edge : cluster.routes(node).InTree(tree, root).away) {
    Add(&sum, Subtree<T>(cluster, topology, count, operation, tree, root, edge.node));
  }
  return sum;
}

template <typename T>
std::vector<T> Expected(SimCluster& cluster, const Topology& topology, const Chunking& chunking, std::size_t operation,
                        std::optional<NodeIndex> root = {}) {
  std::vector<T> result(chunking.elements);
  for (int tree = 0; tree < kTrees; ++tree) {
    const NodeIndex top = root.value_or(tree == 0 ? topology.gateways.front() : topology.gateways.back());
    const auto sum = Subtree<T>(cluster, topology, chunking.elements, operation, tree, root, top);
    const auto split = static_cast<std::ptrdiff_t>(chunking.split);
    if (tree == 0) std::copy(sum.begin(), sum.begin() + split, result.begin());
    if (tree == 1) std::copy(sum.begin() + split, sum.end(), result.begin() + split);
  }
  return result;
}

void ExpectAllOk(SimCluster& cluster, const Topology& topology, std::size_t operations) {
  for (NodeIndex node = 0; node < topology.nodes.size(); ++node) {
    for (std::size_t i = 0; i < operations; ++i) {
      ASSERT_TRUE(cluster.StatusOf(node, i).has_value()) << "node " << node << " operation " << i;
      ASSERT_TRUE(cluster.StatusOf(node, i)->ok()) << cluster.StatusOf(node, i)->message();
    }
  }
}

std::vector<Topology> Topologies() {
  std::vector<Topology> all;
  for (std::uint32_t nodes = 1; nodes <= 17; ++nodes) {
    all.push_back(EvenTopology({nodes}, 1 + nodes % 3));
    all.back().gateways[0] = nodes / 3;
    if (nodes < 2) continue;
    all.push_back(EvenTopology({nodes / 3 + 1, nodes - nodes / 3 - 1}, 1 + nodes % 2));
    if (all.back().nodes.back().zone == 0) all.pop_back();
  }
  return all;
}

std::string Name(const Topology& topology, std::uint64_t seed) {
  std::string name = "gateways";
  for (const std::uint32_t gateway : topology.gateways) name += " " + std::to_string(gateway);
  return name + " of " + std::to_string(topology.nodes.size()) + " nodes, seed " + std::to_string(seed);
}

TEST(SimulatedTest, AllReduceHasTheBitsOfTheTreesInAnyOrderOfEvents) {
  for (const Topology& topology : Topologies()) {
    for (std::uint64_t seed = 1; seed <= SeedsOf(30, 5); ++seed) {
      SCOPED_TRACE(Name(topology, seed));
      SimCluster cluster(topology, seed);
      cluster.Plan(Planned(Collective::kAllReduce, DType::kF32, kManyChunks));
      cluster.Plan(Planned(Collective::kAllReduce, DType::kI32, kManyChunks));
      ASSERT_TRUE(cluster.Run());
      ExpectAllOk(cluster, topology, 2);
      const auto floats = Expected<float>(cluster, topology, kManyChunks, 0);
      const auto integers = Expected<std::int32_t>(cluster, topology, kManyChunks, 1);
      for (NodeIndex node = 0; node < topology.nodes.size(); ++node) {
        ASSERT_EQ(Values<float>(cluster.ResultOf(node, 0)), floats) << "node " << node;
        ASSERT_EQ(Values<std::int32_t>(cluster.ResultOf(node, 1)), integers) << "node " << node;
      }
      EXPECT_LE(cluster.network().most_in_flight(), kCredits);
    }
  }
}

TEST(SimulatedTest, ReduceAndBroadcastFromAnyRoot) {
  for (const Topology& topology : Topologies()) {
    for (std::uint64_t seed = 1; seed <= SeedsOf(20, 5); ++seed) {
      SCOPED_TRACE(Name(topology, seed));
      const auto rank = static_cast<std::uint32_t>(seed * 7 % topology.ranks());
      const NodeIndex root = topology.NodeOf(rank);
      SimCluster cluster(topology, seed);
      cluster.Plan(Planned(Collective::kReduce, DType::kF32, kManyChunks, rank));
      cluster.Plan(Planned(Collective::kBroadcast, DType::kF8E4M3, kManyChunks, rank));
      ASSERT_TRUE(cluster.Run());
      ExpectAllOk(cluster, topology, 2);
      ASSERT_EQ(Values<float>(cluster.ResultOf(root, 0)), Expected<float>(cluster, topology, kManyChunks, 0, root));
      for (NodeIndex node = 0; node < topology.nodes.size(); ++node) {
        ASSERT_EQ(cluster.ResultOf(node, 1), SimInput(DType::kF8E4M3, kManyChunks.elements, 1, root, 0)) << node;
      }
    }
  }
}

TEST(SimulatedTest, TheLatencyPathGivesAllNodesTheSameBitsInAnyOrderOfEvents) {
  for (const Topology& topology : Topologies()) {
    std::optional<std::vector<std::byte>> first;
    for (std::uint64_t seed = 1; seed <= SeedsOf(30, 5); ++seed) {
      SCOPED_TRACE(Name(topology, seed));
      SimCluster cluster(topology, seed);
      cluster.Plan(Direct(DType::kI32, 33));
      cluster.Plan(Direct(DType::kF32, 33));
      cluster.Plan(Direct(DType::kF32, 0));
      ASSERT_TRUE(cluster.Run());
      ExpectAllOk(cluster, topology, 3);
      std::vector<std::int32_t> sum;
      for (NodeIndex node = 0; node < topology.nodes.size(); ++node) {
        Add(&sum, OfNode<std::int32_t>(topology, 33, 0, node));
      }
      if (!first.has_value()) first = cluster.ResultOf(0, 1);
      for (NodeIndex node = 0; node < topology.nodes.size(); ++node) {
        ASSERT_EQ(Values<std::int32_t>(cluster.ResultOf(node, 0)), sum) << "node " << node;
        ASSERT_EQ(cluster.ResultOf(node, 1), *first) << "node " << node;
      }
      std::vector<float> near;
      for (NodeIndex node = 0; node < topology.nodes.size(); ++node) Add(&near, OfNode<float>(topology, 33, 1, node));
      const std::vector<float> result = Values<float>(*first);
      for (std::size_t i = 0; i < near.size(); ++i) ASSERT_NEAR(result[i], near[i], 0.05f);
    }
  }
}

TEST(SimulatedTest, TheAverageIsDividedOnce) {
  for (const Topology& topology : {EvenTopology({1}, 2), EvenTopology({5}, 2), EvenTopology({3, 2}, 2)}) {
    SimCluster cluster(topology, 5);
    for (const bool direct : {false, true}) {
      PlannedOperation planned =
          direct ? Direct(DType::kI32, 17) : Planned(Collective::kAllReduce, DType::kI32, kManyChunks);
      planned.signature.op = ReduceOp::kAverage;
      planned.divisor = topology.ranks();
      cluster.Plan(planned);
    }
    ASSERT_TRUE(cluster.Run());
    ExpectAllOk(cluster, topology, 2);
    for (std::size_t operation = 0; operation < 2; ++operation) {
      std::vector<std::int32_t> sum;
      const std::size_t count = operation == 0 ? kManyChunks.elements : 17;
      for (NodeIndex node = 0; node < topology.nodes.size(); ++node) {
        Add(&sum, OfNode<std::int32_t>(topology, count, operation, node));
      }
      for (std::int32_t& value : sum) value /= static_cast<std::int32_t>(topology.ranks());
      for (NodeIndex node = 0; node < topology.nodes.size(); ++node) {
        EXPECT_EQ(Values<std::int32_t>(cluster.ResultOf(node, operation)), sum);
      }
    }
  }
}

// Deadlocks would hide in streams that operations of different directions share.
TEST(SimulatedTest, ManyOperationsOfAllKindsInFlight) {
  for (const std::uint32_t size : {2u, 3u, 6u, 11u}) {
    for (std::uint64_t seed = 1; seed <= SeedsOf(60, 5); ++seed) {
      const Topology topology = seed % 2 == 0 ? EvenTopology({size}, 2) : EvenTopology({size - 1, 1}, 1);
      SCOPED_TRACE(Name(topology, seed));
      SimCluster cluster(topology, seed);
      Rng rng(seed);
      std::vector<PlannedOperation> plan;
      for (int i = 0; i < 24; ++i) {
        const auto kind = static_cast<Collective>(rng.Next() % 3);
        const auto root = static_cast<std::uint32_t>(rng.Next() % topology.ranks());
        plan.push_back(rng.OneIn(4) ? Direct(DType::kI32, rng.Next() % 9)
                                    : Planned(kind, DType::kI32, kManyChunks, root));
        cluster.Plan(plan.back());
      }
      ASSERT_TRUE(cluster.Run());
      ExpectAllOk(cluster, topology, plan.size());
      for (std::size_t i = 0; i < plan.size(); ++i) {
        if (plan[i].signature.kind != Collective::kAllReduce) continue;
        std::vector<std::int32_t> sum;
        const std::size_t count = plan[i].signature.count;
        for (NodeIndex node = 0; node < size; ++node) Add(&sum, OfNode<std::int32_t>(topology, count, i, node));
        for (NodeIndex node = 0; node < size; ++node) {
          ASSERT_EQ(Values<std::int32_t>(cluster.ResultOf(node, i)), sum) << i;
        }
      }
    }
  }
}

TEST(SimulatedTest, ResultsGoDownWhileUpCreditsAreWithheld) {
  for (std::uint64_t seed = 1; seed <= SeedsOf(20, 5); ++seed) {
    const Topology topology = EvenTopology({7}, 1);
    SimCluster cluster(topology, seed);
    bool withheld = true;
    cluster.network().WithholdCredits(
        [&withheld](NodeIndex, NodeIndex, Stream s) { return withheld && (s == Stream::kUp0 || s == Stream::kUp1); });
    cluster.Plan(Planned(Collective::kAllReduce, DType::kF32, kManyChunks));
    const auto all_have = [&](std::uint32_t chunks) {
      for (NodeIndex node = 0; node < 7; ++node) {
        for (int half = 0; half < 2; ++half) {
          if (cluster.TakenBy(node, 0, half) != chunks) return false;
        }
      }
      return true;
    };
    // What could go up has come down to everybody.
    ASSERT_TRUE(cluster.Run([&] { return all_have(kCredits); })) << "seed " << seed;
    EXPECT_FALSE(cluster.StatusOf(0, 0).has_value());
    EXPECT_EQ(cluster.network().most_in_flight(), kCredits);
    withheld = false;
    ASSERT_TRUE(cluster.Run());
    ExpectAllOk(cluster, topology, 1);
  }
}

TEST(SimulatedTest, OnlyGatewaysCrossAndTheDataOnceEachWay) {
  for (const auto& [a, b] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{{1, 1}, {2, 5}, {8, 9}, {7, 3}}) {
    Topology topology = EvenTopology({a, b}, 1);
    topology.gateways = {a / 2, a + b / 2};
    for (const bool direct : {false, true}) {
      SimCluster cluster(topology, a + b);
      cluster.Plan(direct ? Direct(DType::kF32, 201) : Planned(Collective::kAllReduce, DType::kF32, kManyChunks));
      ASSERT_TRUE(cluster.Run());
      ExpectAllOk(cluster, topology, 1);
      for (NodeIndex from = 0; from < a + b; ++from) {
        for (NodeIndex to = 0; to < a + b; ++to) {
          if (topology.nodes[from].zone == topology.nodes[to].zone) continue;
          const bool gateways = from + to == topology.gateways[0] + topology.gateways[1] &&
                                (from == topology.gateways[0] || to == topology.gateways[0]);
          EXPECT_EQ(cluster.network().PayloadBytes(from, to), gateways ? kManyChunks.elements * 4 : 0u)
              << from << " " << to;
        }
      }
    }
  }
}

}  // namespace
}  // namespace glim::hfreduce
