// Outages: a leaf that is gone, and an operator who knows that the silent will not come back. (The rule itself and
// single losses: node_machine_test.cc.)
#include "scheduler/core/lifecycle/silence.h"

#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;
using testing::Zones;

// Nodes 1 and 2 are on the first leaf, 3 and 4 on the second.
struct TwoLeaves {
  TwoLeaves() { job = c.Running(Spec(2)); }
  Cluster c{Zones{.leaves = 2, .nodes = 2}};
  JobId job;
};

TEST(ASilentLeaf, IsLostAfterItsTimeWhileAnotherIsHeard) {
  TwoLeaves s;
  s.c.Silence(NodeId(1));
  s.c.Silence(NodeId(2));
  s.c.Advance(s.c.policy().leaf_lost_after - Milliseconds(1));
  ASSERT_TRUE(s.c.state().outage);
  EXPECT_EQ(s.c.node(NodeId(1)).state, NodeState::kSilent);
  s.c.Advance(Milliseconds(1));
  EXPECT_EQ(s.c.node(NodeId(1)).state, NodeState::kLost);
  EXPECT_EQ(s.c.node(NodeId(2)).state, NodeState::kLost);
  s.c.Advance(Seconds(31));
  EXPECT_FALSE(s.c.state().outage);
  s.c.Settle();
  EXPECT_EQ(s.c.attempt(s.job).nodes, (std::vector{NodeId(3), NodeId(4)})) << "its job goes on elsewhere";
}

TEST(ASilentLeaf, OfWhichOneNodeIsHeardIsNotLost) {
  TwoLeaves s;
  s.c.Silence(NodeId(1));
  s.c.Silence(NodeId(3));
  s.c.Advance(Hours(1));
  EXPECT_TRUE(s.c.state().outage);
  EXPECT_EQ(s.c.Noted(HistoryKind::kNodeLost), 0);
}

TEST(ASilentLeaf, IsNotLostWhileNobodyIsHeard) {
  TwoLeaves s;
  for (std::uint32_t n = 1; n <= 4; ++n) s.c.Silence(NodeId(n));
  s.c.Advance(Hours(1));
  EXPECT_EQ(s.c.Noted(HistoryKind::kNodeLost), 0) << "the scheduler itself may be cut off";
  s.c.Return(NodeId(3));
  s.c.Return(NodeId(4));
  s.c.Advance(Milliseconds(1));
  EXPECT_EQ(s.c.node(NodeId(1)).state, NodeState::kLost);
}

// Nodes 3 and 4 of four are switched off by somebody who has taken them out first.
struct TwoSwitchedOff {
  explicit TwoSwitchedOff(const std::string& by = "ann") {
    for (const char* name : {"n3", "n4"}) c.Do(CordonNode{name, by, "a new rack", {}, true});
    for (const std::uint32_t n : {3u, 4u}) c.Silence(NodeId(n));
  }
  Cluster c{Zones{.leaves = 2, .nodes = 2}};
};

TEST(ANodeThatIsSwitchedOff, CountsInNoOutage) {
  TwoSwitchedOff s;
  s.c.Advance(s.c.policy().node_lost_after + Seconds(1));
  EXPECT_FALSE(s.c.state().outage) << "two of four are silent, and an operator has taken both out";
  EXPECT_EQ(s.c.node(NodeId(3)).state, NodeState::kLost);
  s.c.Silence(NodeId(1));
  s.c.Advance(s.c.policy().node_lost_after + Seconds(1));
  EXPECT_EQ(s.c.node(NodeId(1)).state, NodeState::kLost) << "whoever fails meanwhile is found";
}

TEST(ANodeThatIsSwitchedOff, IsNoSuspectWhenItIsBack) {
  TwoSwitchedOff s;
  s.c.Advance(s.c.policy().node_lost_after + Seconds(1));
  s.c.Return(NodeId(3));
  ASSERT_TRUE(s.c.Do(UncordonNode{"n3", "ann"}).status.ok());
  EXPECT_EQ(s.c.node(NodeId(3)).suspect_until, TimePoint{});
  EXPECT_TRUE(IsUsable(s.c.node(NodeId(3))));
}

TEST(ANodeThatIsSwitchedOff, IsSilentAsAnyOtherWhereNobodyButHealthHasTakenItOut) {
  TwoSwitchedOff s("health");
  s.c.Advance(s.c.policy().node_lost_after + Seconds(1));
  EXPECT_TRUE(s.c.state().outage);
}

TEST(ResolveOutageOrder, JudgesTheSilentLost) {
  TwoLeaves s;
  s.c.Silence(NodeId(1));
  s.c.Silence(NodeId(3));
  s.c.Advance(s.c.policy().node_lost_after + Seconds(1));
  ASSERT_TRUE(s.c.state().outage);
  const Reply reply = s.c.Do(ResolveOutage{});
  EXPECT_TRUE(reply.status.ok());
  EXPECT_EQ(reply.nodes, 2u);
  EXPECT_FALSE(s.c.state().outage);
  EXPECT_EQ(s.c.node(NodeId(1)).state, NodeState::kLost);
  EXPECT_EQ(s.c.attempt(s.job).stop, StopCause::kNodeFailure);
  s.c.Advance(Hours(1));
  EXPECT_EQ(s.c.Noted(HistoryKind::kOutageBegan), 1) << "the lost are known to be away";
  EXPECT_EQ(s.c.Noted(HistoryKind::kOutageEnded), 1);
}

TEST(ResolveOutageOrder, LeavesAloneWhoHasJustFallenSilent) {
  TwoLeaves s;
  s.c.Silence(NodeId(1));
  s.c.Silence(NodeId(3));
  s.c.Advance(s.c.policy().node_lost_after + Seconds(1));
  s.c.Silence(NodeId(4), true);
  EXPECT_EQ(s.c.Do(ResolveOutage{}).nodes, 2u);
  EXPECT_EQ(s.c.node(NodeId(4)).state, NodeState::kSilent) << "its agent may just be starting anew";
}

TEST(ResolveOutageOrder, IsRefusedWithoutAnOutage) {
  TwoLeaves s;
  const Reply reply = s.c.Do(ResolveOutage{});
  EXPECT_EQ(reply.status.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(reply.status.reason(), "NO_OUTAGE");
}

}  // namespace
}  // namespace glim::core
