// The latency path as a graph, and the parts of the engine that have no network in them.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "sdk/hfreduce/engine/direct_schedule.h"
#include "sdk/hfreduce/engine/lanes.h"
#include "sdk/hfreduce/engine/routes.h"
#include "sdk/hfreduce/engine/stall_watch.h"
#include "sdk/hfreduce/engine/testing/sim_transport.h"
#include "sdk/hfreduce/signature/signature.h"

namespace glim::hfreduce {
namespace {

using Receives = DirectStep::Receives;

std::vector<std::vector<DirectStep>> Schedules(const Topology& topology) {
  std::vector<std::vector<DirectStep>> all;
  for (NodeIndex node = 0; node < topology.nodes.size(); ++node) all.push_back(MakeDirectSchedule(topology, node));
  return all;
}

// Plays the steps with sets of nodes for values; a step runs when its message has been sent.
void ExpectEveryoneGetsEverything(const std::vector<std::vector<DirectStep>>& schedules) {
  const std::size_t nodes = schedules.size();
  std::vector<std::set<NodeIndex>> values(nodes);
  std::vector<std::size_t> at(nodes, 0);
  std::vector<bool> sent(nodes, false);
  std::map<std::pair<NodeIndex, NodeIndex>, std::set<NodeIndex>> wire;
  for (NodeIndex node = 0; node < nodes; ++node) values[node] = {node};
  for (bool any = true; any;) {
    any = false;
    for (NodeIndex node = 0; node < nodes; ++node) {
      if (at[node] == schedules[node].size()) continue;
      const DirectStep& step = schedules[node][at[node]];
      if (step.sends && !sent[node]) {
        ASSERT_TRUE(wire.emplace(std::pair(node, step.peer), values[node]).second) << "a second message";
        sent[node] = any = true;
      }
      const auto message = wire.find({step.peer, node});
      if (step.receives != Receives::kNothing) {
        if (message == wire.end()) continue;
        if (step.receives == Receives::kResult) values[node].clear();
        const std::size_t before = values[node].size();
        values[node].insert(message->second.begin(), message->second.end());
        ASSERT_EQ(values[node].size(), before + message->second.size()) << "a part is added twice";
        ASSERT_EQ(step.last, step.receives == Receives::kPart && values[node].size() == nodes);
      }
      ++at[node];
      sent[node] = false;
      any = true;
    }
  }
  for (NodeIndex node = 0; node < nodes; ++node) {
    EXPECT_EQ(at[node], schedules[node].size()) << "node " << node << " waits forever";
    EXPECT_EQ(values[node].size(), nodes) << "node " << node;
  }
}

TEST(DirectScheduleTest, OneZoneOfAnySize) {
  for (std::uint32_t size = 1; size <= 40; ++size) {
    SCOPED_TRACE(::testing::Message() << size << " nodes");
    const auto schedules = Schedules(EvenTopology({size}, 1));
    ExpectEveryoneGetsEverything(schedules);
    for (NodeIndex node = 0; node < size; ++node) {
      EXPECT_LE(schedules[node].size(), static_cast<std::size_t>(std::bit_width(size) - 1) + 2);
      for (const DirectStep& step : schedules[node]) {
        if (step.receives != Receives::kPart) continue;
        EXPECT_EQ(step.mine_first, node < step.peer) << "partners add in one order";
      }
    }
  }
}

TEST(DirectScheduleTest, TwoZonesOfAnySizeCrossBetweenGatewaysOnce) {
  for (std::uint32_t a = 1; a <= 20; ++a) {
    for (std::uint32_t b = 1; b <= 20; ++b) {
      SCOPED_TRACE(::testing::Message() << a << " and " << b << " nodes");
      Topology topology = EvenTopology({a, b}, 1);
      topology.gateways = {a / 2, a + b / 3};
      const auto schedules = Schedules(topology);
      ExpectEveryoneGetsEverything(schedules);
      for (NodeIndex node = 0; node < a + b; ++node) {
        std::size_t crossing = 0;
        for (const DirectStep& step : schedules[node]) {
          if (topology.nodes[node].zone != topology.nodes[step.peer].zone) ++crossing;
        }
        EXPECT_EQ(crossing, node == topology.gateways[0] || node == topology.gateways[1] ? 1u : 0u);
      }
    }
  }
}

TEST(RoutesTest, ATreeHungUpAtAnyRootIsATree) {
  const Topology topology = EvenTopology({6, 7}, 1);
  std::vector<Routes> routes;
  for (NodeIndex node = 0; node < 13; ++node) routes.emplace_back(topology, node);
  for (int tree = 0; tree < kTrees; ++tree) {
    for (NodeIndex root = 0; root < 13; ++root) {
      std::size_t edges = 0;
      for (NodeIndex node = 0; node < 13; ++node) {
        const TreeRoute route = routes[node].InTree(tree, root);
        EXPECT_EQ(route.toward.has_value(), node != root);
        EXPECT_LE(route.away.size(), 3u);
        const auto higher = [](const TreeEdge& a, const TreeEdge& b) { return a.node < b.node; };
        EXPECT_TRUE(std::is_sorted(route.away.begin(), route.away.end(), higher))
            << "the order in which parts are added";
        edges += route.away.size();
        for (const TreeEdge& edge : route.away) {
          const TreeRoute back = routes[edge.node].InTree(tree, root);
          ASSERT_TRUE(back.toward.has_value());
          EXPECT_EQ(back.toward->node, node);
          EXPECT_EQ(back.toward->sends, edge.receives);
          EXPECT_EQ(back.toward->receives, edge.sends);
        }
      }
      EXPECT_EQ(edges, 12u);
    }
  }
}

TEST(SignatureTest, PackingLosesNothing) {
  const Signature signature = {.kind = Collective::kReduceScatter,
                               .type = DType::kI64,
                               .op = ReduceOp::kProduct,
                               .root = kRanksMax - 1,
                               .count = kCountMax};
  EXPECT_EQ(Unpack(Pack(signature)), signature);
  EXPECT_EQ(Unpack(Pack({})), Signature{});
}

TEST(SignatureTest, AnyBitsCanBeDescribed) {
  Rng rng(1);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(Describe(Unpack(rng.Next())).empty());
  EXPECT_EQ(Describe({.kind = Collective::kReduce, .op = ReduceOp::kMax, .root = 3, .count = 12}),
            "Reduce of 12 fp32 (max) to rank 3");
  EXPECT_EQ(Difference({.root = 1, .count = 2}, {.root = 2, .count = 2}), "root 1 against 2");
}

TEST(LanesTest, AStreamCarriesOperationsInTheirOrder) {
  SimNetwork network({{1}, {0}}, 1);
  Lanes lanes(network.transport(0));
  const auto send = [&](std::uint64_t operation, Stream stream) {
    return lanes.TrySend(1, {.operation = operation, .signature = 0, .chunk = 0, .bytes = 0, .stream = stream}, {});
  };
  lanes.Claim(1, 1, Stream::kUp0, 2);
  lanes.Claim(2, 1, Stream::kUp0, 1);
  lanes.Claim(2, 1, Stream::kDown0, 1);
  EXPECT_FALSE(send(2, Stream::kUp0)) << "an earlier operation has not sent";
  EXPECT_TRUE(send(2, Stream::kDown0)) << "another stream waits for nobody";
  EXPECT_TRUE(send(1, Stream::kUp0));
  EXPECT_FALSE(send(2, Stream::kUp0));
  EXPECT_TRUE(send(1, Stream::kUp0));
  EXPECT_TRUE(send(2, Stream::kUp0));
}

TEST(StallWatchTest, NamesWhoDoesNotAnswerAndWhoWaitsForItself) {
  StallWatch watch(0, Milliseconds(400));
  TimePoint now{1000};
  const auto tick_until = [&](std::int64_t ms) {
    bool asks = false;
    for (; now.ms < 1000 + ms; now = now + Milliseconds(20)) asks = watch.Tick(now, true, 7) || asks;
    return asks;
  };
  EXPECT_FALSE(tick_until(100));
  EXPECT_TRUE(tick_until(200));
  EXPECT_TRUE(watch.Judge({.local = false, .nodes = {3}}, "it").ok()) << "before the timeout";
  tick_until(300);
  watch.Answered(3, false);
  watch.Answered(4, true);
  tick_until(460);
  EXPECT_TRUE(watch.Judge({.local = false, .nodes = {3}}, "it").ok()) << "its neighbour will tell";
  EXPECT_EQ(
      watch.Judge({.local = false, .nodes = {3, 4}}, "it").message(),
      "it made no progress for 440 ms: node 4 waits for its own processes, which have not come or do not deliver");
  EXPECT_EQ(watch.Judge({.local = false, .nodes = {5}}, "it").message(),
            "it made no progress for 440 ms: node 5 does not answer");
  EXPECT_EQ(watch.Judge({.local = true, .nodes = {}}, "it").code(), StatusCode::kUnavailable);
}

TEST(StallWatchTest, AWatchThatOversleptAccusesNobody) {
  StallWatch watch(0, Milliseconds(400));
  EXPECT_FALSE(watch.Tick(TimePoint{1000}, true, 7));
  EXPECT_FALSE(watch.Tick(TimePoint{3000}, true, 7));
  EXPECT_TRUE(watch.Judge({.local = false, .nodes = {5}}, "it").ok());
}

}  // namespace
}  // namespace glim::hfreduce
