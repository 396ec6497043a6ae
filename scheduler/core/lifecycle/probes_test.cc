// Who is called lost by what others say of it, and who is not.
#include "scheduler/core/lifecycle/probes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;
using testing::Zones;

// Two zones of two leaves with four nodes each: n1 to n4 are the first leaf. Agents probe as they are asked, and report
// each second.
class World {
 public:
  World() : c(Zones{.zones = 2, .leaves = 2, .nodes = 4}) {
    for (std::uint32_t n = 1; n <= 16; ++n) Join(NodeId(n));
    job = c.Running(Spec(2));
    first = c.attempt(job).nodes[0];
    second = c.attempt(job).nodes[1];
    Run(Milliseconds(500));  // all are heard
  }

  void Join(NodeId id) {
    NodeConnected event;
    const Node& row = c.node(id);
    event.name = row.name;
    event.machine_id = row.machine_id;
    event.labels = row.labels;
    event.address = "10.0.0." + std::to_string(id.value);
    c.Connect(std::move(event));
    Report(id);
  }

  // Its agent is not heard from now on.
  void Cut(NodeId id, bool stream_ends = false) { c.Silence(id, stream_ends); }

  void Report(NodeId id) {
    NodeReported event{id, c.session(id), true, c.agent(id).Observed()};
    for (const NodeId target : ProbesOf(c.state().probing, id)) {
      const auto [since, fresh] = since_.try_emplace({id, target}, c.now());
      if (reaches(id, target)) since->second = c.now();
      event.probes.push_back({c.node(target).name, c.now() - since->second});
    }
    c.Do(event);
  }

  // Until `by` has passed, or the node is lost; the time it took.
  Duration Run(Duration by, NodeId watched = {}) {
    const TimePoint began = c.now();
    while (c.now() - began < by && (!watched || c.node(watched).state != NodeState::kLost)) {
      c.SetNow(c.now() + Milliseconds(500));
      c.Do(TimePassed{});
      for (std::uint32_t n = 1; n <= 16; ++n) {
        if (c.IsConnected(NodeId(n)) && !mute.contains(NodeId(n))) Report(NodeId(n));
      }
    }
    return c.now() - began;
  }

  Cluster c;
  JobId job;
  NodeId first, second;
  std::set<NodeId> mute;
  std::function<bool(NodeId, NodeId)> reaches = [this](NodeId, NodeId target) { return c.IsConnected(target); };

 private:
  std::map<std::pair<NodeId, NodeId>, TimePoint> since_;
};

TEST(AMachineThatIsGone, IsLostWhenNobodyHasReachedItForEightSeconds) {
  World w;
  w.Cut(w.first);
  const Duration took = w.Run(Minutes(2), w.first);
  EXPECT_GE(took, ProbedAfter(w.c.policy()) + UnreachableAfter(w.c.policy()));
  EXPECT_LE(took, Seconds(16));
  EXPECT_EQ(w.c.attempt(w.job, 1).stop, StopCause::kNodeFailure);
  EXPECT_NE(w.c.node(w.first).message.find("and its machine answers none of n"), std::string::npos)
      << w.c.node(w.first).message;
  EXPECT_TRUE(w.c.state().probing.by.empty());
}

TEST(AMachineThatIsGone, IsLostSoonerWhereItsStreamEnds) {
  World w;
  w.Cut(w.first, true);
  EXPECT_LE(w.Run(Minutes(2), w.first), Seconds(10));
}

TEST(AMachineThatIsGone, IsProbedByItsJobItsLeafAndItsZone) {
  World w;
  w.Cut(w.first);
  w.Run(Seconds(7));
  const std::vector<NodeId> by = w.c.state().probing.by.at(w.first);
  EXPECT_EQ(by.size(), kProbersMost);
  EXPECT_NE(std::find(by.begin(), by.end(), w.second), by.end());
  const Node& gone = w.c.node(w.first);
  const auto of_leaf = [&](NodeId id) { return w.c.node(id).labels.leaf == gone.labels.leaf; };
  const auto of_zone = [&](NodeId id) { return w.c.node(id).labels.zone == gone.labels.zone; };
  EXPECT_GE(std::count_if(by.begin(), by.end(), of_leaf), 2);
  EXPECT_GE(std::count_if(by.begin(), by.end(), of_zone), 5);
}

TEST(AMachineThatAnswers, IsLostAfterTheFullTimeOnly) {
  World w;
  w.Cut(w.first, true);  // its agent is gone, and its kernel says that nobody listens
  w.reaches = [](NodeId, NodeId) { return true; };
  EXPECT_GE(w.Run(Minutes(2), w.first), w.c.policy().node_lost_after - Seconds(1));
}

TEST(AMachineThatAnswers, OneOfThemIsEnough) {
  World w;
  w.Cut(w.first);
  w.reaches = [&](NodeId prober, NodeId target) { return target != w.first || prober == w.second; };
  EXPECT_GE(w.Run(Minutes(2), w.first), w.c.policy().node_lost_after - Seconds(1));
}

TEST(AShortCut, CallsNobodyLost) {
  for (int tenths = 1; tenths < 50; ++tenths) {
    World w;
    w.Cut(w.first, tenths % 2 == 0);
    w.Run(Milliseconds(std::int64_t{100} * tenths));
    w.Join(w.first);
    w.Run(Minutes(2));
    EXPECT_EQ(w.c.Noted(HistoryKind::kNodeLost), 0) << tenths;
    EXPECT_TRUE(w.c.state().probing.by.empty());
    EXPECT_TRUE(ProbesOf(w.c.state().probing, w.second).empty());
  }
}

TEST(ProbesThatFailAsTheirControlsDo, SayNothing) {
  World w;
  w.Cut(w.first);
  w.reaches = [](NodeId, NodeId) { return false; };  // no agent may connect to anybody
  EXPECT_GE(w.Run(Minutes(2), w.first), w.c.policy().node_lost_after - Seconds(1));
}

TEST(ProbesOfOneAlone, SayNothing) {
  World w;
  w.Cut(w.first);
  // Only the second of the job has others that it reaches; the rest are cut off from each other.
  w.reaches = [&](NodeId prober, NodeId target) { return prober == w.second && target != w.first; };
  EXPECT_GE(w.Run(Minutes(2), w.first), w.c.policy().node_lost_after - Seconds(1));
}

TEST(ProbesThatAreOld, SayNothing) {
  World w;
  w.Cut(w.first);
  w.Run(Seconds(10));  // the probes have begun
  ASSERT_EQ(w.c.node(w.first).state, NodeState::kReady);
  for (std::uint32_t n = 1; n <= 16; ++n) w.mute.insert(NodeId(n));
  w.Run(Seconds(20));
  EXPECT_EQ(w.c.Noted(HistoryKind::kNodeLost), 0) << "the scheduler itself may be cut off";
}

TEST(ASwitchThatReboots, CostsNobodyMoreThanBefore) {
  World w;
  for (std::uint32_t n = 1; n <= 4; ++n) w.Cut(NodeId(n));
  w.Run(Seconds(30));
  for (std::uint32_t n = 1; n <= 4; ++n) w.Join(NodeId(n));
  w.Run(Minutes(1));
  EXPECT_EQ(w.c.Noted(HistoryKind::kNodeLost), 0);
}

TEST(TheLastToComeBackFromAnOutage, IsNotLostForIt) {
  World w;
  const NodeId others[] = {NodeId(9), NodeId(13), NodeId(14), NodeId(16)};
  w.Cut(w.first);
  for (const NodeId id : others) w.Cut(id);
  w.Run(Seconds(30));
  for (const NodeId id : others) w.Join(id);
  w.Run(Seconds(5));
  w.Join(w.first);
  w.Run(Seconds(5));
  EXPECT_EQ(w.c.Noted(HistoryKind::kNodeLost), 0);
}

TEST(TwoOfALeaf, AreNoSingleDeath) {
  World w;
  w.Cut(w.first);
  w.Cut(w.second);
  ASSERT_EQ(w.c.node(w.first).labels.leaf, w.c.node(w.second).labels.leaf);
  w.Run(Seconds(30));
  EXPECT_EQ(w.c.Noted(HistoryKind::kNodeLost), 0);
}

TEST(ANodeWithoutAJob, IsNotProbed) {
  World w;
  NodeId idle;
  for (std::uint32_t n = 1; n <= 16; ++n) {
    if (!w.c.node(NodeId(n)).holder) idle = NodeId(n);
  }
  w.Cut(idle);
  w.Run(Seconds(20));
  EXPECT_TRUE(w.c.state().probing.by.empty());
}

TEST(ANewLeader, HasNobodyProbedThatItHasNotHeard) {
  World w;
  w.c.RestartScheduler();
  for (std::uint32_t n = 1; n <= 16; ++n) {
    if (NodeId(n) != w.first) w.Join(NodeId(n));
  }
  w.Run(Seconds(30));
  EXPECT_TRUE(w.c.state().probing.by.empty());
  EXPECT_EQ(w.c.Noted(HistoryKind::kNodeLost), 0);
}

TEST(WhatANodeSaysUnasked, IsNotKept) {
  World w;
  NodeReported event{w.second, w.c.session(w.second), true, w.c.agent(w.second).Observed()};
  event.probes = {{w.c.node(w.first).name, Hours(1)}, {"no such node", Hours(1)}};
  w.c.Do(event);
  EXPECT_TRUE(w.c.state().probing.told.empty());
}

TEST(AnOperatorWhoWantsSilenceToBeWaitedFor, HasNoProbes) {
  Policy policy;
  EXPECT_EQ(ProbedAfter(policy), Seconds(6));
  policy.node_lost_after = Minutes(10) + Milliseconds(1);
  EXPECT_EQ(ProbedAfter(policy), Duration{});
}

}  // namespace
}  // namespace glim::core
