// Whatever goes wrong, every operation on every node ends with an error that names who it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sdk/base/testing/seeds.h"
#include "sdk/hfreduce/engine/testing/sim_cluster.h"

namespace glim::hfreduce {
namespace {

using ::testing::HasSubstr;

constexpr Chunking kChunks{.split = 96, .elements = 201, .chunk_elements = 8};

PlannedOperation AllReduce(const Chunking& chunking = kChunks) {
  return {.signature = {.type = DType::kI32, .count = chunking.elements}, .chunking = chunking};
}

PlannedOperation Direct(std::size_t elements) {
  PlannedOperation planned = AllReduce(OneChunk(elements));
  planned.direct = true;
  return planned;
}

// The last operation on all nodes but `but`.
void ExpectAllFail(SimCluster& cluster, std::uint32_t nodes, std::size_t operation, std::optional<NodeIndex> but,
                   StatusCode code, const std::string& text) {
  for (NodeIndex node = 0; node < nodes; ++node) {
    if (node == but) continue;
    EXPECT_EQ(cluster.engine(node).status().code(), code)
        << "node " << node << ": " << cluster.engine(node).status().message();
    EXPECT_THAT(cluster.engine(node).status().message(), HasSubstr(text)) << "node " << node;
    const std::optional<Status>& status = cluster.StatusOf(node, operation);
    if (!status.has_value()) continue;
    EXPECT_EQ(*status, cluster.engine(node).status());
  }
}

TEST(FailureTest, ADeadPeerFailsEveryNodeWithItsName) {
  for (const auto& zones : std::vector<std::vector<std::uint32_t>>{{2}, {5}, {12}, {4, 5}}) {
    const Topology topology = EvenTopology(zones, 2);
    const auto nodes = static_cast<std::uint32_t>(topology.nodes.size());
    for (std::uint64_t seed = 1; seed <= SeedsOf(100, 10); ++seed) {
      SCOPED_TRACE(::testing::Message() << nodes << " nodes, seed " << seed);
      SimCluster cluster(topology, seed);
      Rng rng(seed);
      const auto victim = static_cast<NodeIndex>(rng.Next() % nodes);
      for (int i = 0; i < 5; ++i) cluster.Plan(i % 3 == 2 ? Direct(9) : AllReduce());
      // It never comes to the last operation: nobody can end that.
      for (NodeIndex node = 0; node < nodes; ++node) {
        if (node != victim) cluster.PlanOn(node, seed % 2 == 0 ? Direct(9) : AllReduce());
      }
      const auto moment = static_cast<std::uint32_t>(rng.Between(0, 11));
      ASSERT_TRUE(cluster.Run([&] { return cluster.TakenBy(victim, 3, 0) >= moment; }));
      cluster.Kill(victim);
      ASSERT_TRUE(cluster.Run());
      ExpectAllFail(cluster, nodes, 5, victim, StatusCode::kUnavailable,
                    "node " + std::to_string(victim) + " is lost: connection reset");
    }
  }
}

TEST(FailureTest, AnAbortReachesEverybodyWithItsReason) {
  const Topology topology = EvenTopology({4, 5}, 1);
  SimCluster cluster(topology, 1);
  cluster.Plan(AllReduce());
  ASSERT_TRUE(cluster.Run([&] { return cluster.TakenBy(8, 0, 0) > 0; }));
  cluster.engine(8).Abort("the job is interrupted");
  ASSERT_TRUE(cluster.Run());
  ExpectAllFail(cluster, 9, 0, {}, StatusCode::kAborted, "the job is interrupted");
}

struct Mismatch {
  const char* difference;
  PlannedOperation other;
};

TEST(FailureTest, DifferentOperationsAreNamed) {
  PlannedOperation other_op = AllReduce();
  other_op.signature.op = ReduceOp::kMax;
  PlannedOperation other_type = AllReduce();
  other_type.signature.type = DType::kF32;
  PlannedOperation reduce = AllReduce();
  reduce.signature.kind = Collective::kReduce;
  PlannedOperation broadcast = AllReduce();
  broadcast.signature.kind = Collective::kBroadcast;
  const std::vector<Mismatch> mismatches = {
      {"op max against sum|op sum against max", other_op},
      {"type fp32 against int32|type int32 against fp32", other_type},
      {"count 200 against 201|count 201 against 200", AllReduce({.split = 96, .elements = 200, .chunk_elements = 8})},
      {"kind Reduce against AllReduce|kind AllReduce against Reduce", reduce},
      {"kind Broadcast against AllReduce|kind AllReduce against Broadcast", broadcast},
      {"count 9 against 201|count 201 against 9", Direct(9)},
      {"path", Direct(201)},
  };
  for (const Mismatch& mismatch : mismatches) {
    for (std::uint64_t seed = 1; seed <= SeedsOf(40, 10); ++seed) {
      const std::uint32_t nodes = 2 + seed % 6;
      const auto odd = static_cast<NodeIndex>((seed * 5 + seed / 6) % nodes);
      SCOPED_TRACE(::testing::Message() << mismatch.difference << ", seed " << seed);
      SimCluster cluster(EvenTopology({nodes}, 1), seed, Seconds(8));
      cluster.Plan(AllReduce());
      for (NodeIndex node = 0; node < nodes; ++node) cluster.PlanOn(node, node == odd ? mismatch.other : AllReduce());
      ASSERT_TRUE(cluster.Run());
      ExpectAllFail(cluster, nodes, 1, {}, StatusCode::kInvalidArgument, "operation 2 ");
      ExpectAllFail(cluster, nodes, 1, {}, StatusCode::kInvalidArgument, "node " + std::to_string(odd));
      const std::string& message = cluster.engine(0).status().message();
      const std::string text = mismatch.difference;
      const std::size_t bar = text.find('|');
      EXPECT_TRUE(message.find(text.substr(0, bar)) != std::string::npos ||
                  message.find(text.substr(bar + 1)) != std::string::npos)
          << message;
    }
  }
}

TEST(FailureTest, ProcessesThatDoNotComeAreNamedByAll) {
  for (std::uint64_t seed = 1; seed <= SeedsOf(30, 10); ++seed) {
    const Topology topology = EvenTopology({9}, 2);
    const auto frozen = static_cast<NodeIndex>(seed % 9);
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    SimCluster cluster(topology, seed, Milliseconds(400));
    cluster.Plan(AllReduce());
    cluster.Plan(AllReduce());
    ASSERT_TRUE(cluster.Run([&] { return cluster.TakenBy(frozen, 0, 1) >= seed % 10; }));
    cluster.FreezeProcesses(frozen);
    ASSERT_TRUE(cluster.Run());
    ExpectAllFail(cluster, 9, 1, {}, StatusCode::kUnavailable,
                  "node " + std::to_string(frozen) + " waits for its own processes");
  }
}

TEST(FailureTest, ALeaderThatStandsStillIsNamedByAll) {
  for (std::uint64_t seed = 1; seed <= SeedsOf(30, 10); ++seed) {
    const Topology topology = EvenTopology({5, 4}, 1);
    const auto frozen = static_cast<NodeIndex>(seed % 9);
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    SimCluster cluster(topology, seed, Milliseconds(400));
    cluster.Plan(AllReduce());
    cluster.Plan(AllReduce());
    ASSERT_TRUE(cluster.Run([&] { return cluster.TakenBy(frozen, 0, 0) >= seed % 10; }));
    cluster.FreezeLeader(frozen);
    ASSERT_TRUE(cluster.Run());
    ExpectAllFail(cluster, 9, 1, frozen, StatusCode::kUnavailable,
                  "node " + std::to_string(frozen) + " does not answer");
  }
}

TEST(FailureTest, NodesThatLeaveWhenDoneDisturbNobody) {
  for (std::uint64_t seed = 1; seed <= SeedsOf(100, 10); ++seed) {
    const std::uint32_t nodes = 2 + seed % 8;
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    SimCluster cluster(EvenTopology({nodes}, 1), seed);
    for (int i = 0; i < 3; ++i) cluster.Plan(seed % 2 == 0 ? Direct(9) : AllReduce());
    for (NodeIndex node = 0; node < nodes; ++node) cluster.LeaveWhenDone(node);
    ASSERT_TRUE(cluster.Run());
    for (NodeIndex node = 0; node < nodes; ++node) {
      for (std::size_t i = 0; i < 3; ++i) {
        ASSERT_TRUE(cluster.StatusOf(node, i)->ok()) << cluster.StatusOf(node, i)->message();
      }
    }
  }
}

TEST(FailureTest, WhoeverNeedsANodeThatHasLeftIsTold) {
  for (std::uint64_t seed = 1; seed <= SeedsOf(30, 10); ++seed) {
    SimCluster cluster(EvenTopology({4}, 1), seed);
    cluster.Plan(AllReduce());
    for (NodeIndex node = 0; node < 3; ++node) cluster.PlanOn(node, AllReduce());
    cluster.LeaveWhenDone(3);
    ASSERT_TRUE(cluster.Run());
    for (NodeIndex node = 0; node < 3; ++node) {
      EXPECT_TRUE(cluster.StatusOf(node, 0)->ok());
      EXPECT_EQ(cluster.StatusOf(node, 1)->code(), StatusCode::kUnavailable);
      EXPECT_THAT(cluster.StatusOf(node, 1)->message(), HasSubstr("node 3 has left"));
    }
  }
}

TEST(FailureTest, LeavingInTheMiddleIsAnAbort) {
  SimCluster cluster(EvenTopology({5}, 1), 3);
  cluster.Plan(AllReduce());
  ASSERT_TRUE(cluster.Run([&] { return cluster.TakenBy(2, 0, 0) > 2; }));
  cluster.engine(2).Leave();
  ASSERT_TRUE(cluster.Run());
  ExpectAllFail(cluster, 5, 0, {}, StatusCode::kAborted, "node 2 has left in the middle of operation 1");
}

}  // namespace
}  // namespace glim::hfreduce
