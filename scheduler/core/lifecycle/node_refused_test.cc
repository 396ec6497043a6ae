// An agent of another release is refused: that is no outage and no loss, and what runs there is not started twice.
#include "scheduler/core/lifecycle/node_refused.h"

#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Labels;
using testing::Spec;
using testing::Zones;

constexpr const char* kWhy = "protocol version 9: upgrade its agent";
constexpr Duration kKnocksEvery = Seconds(5);

void Knock(Cluster& c, NodeId node) {
  const Node& row = c.node(node);
  c.Do(NodeRefused{row.name, row.machine_id, kWhy});
}

// As time passes for agents that are refused again and again.
void KnockFor(Cluster& c, const std::vector<NodeId>& nodes, Duration time) {
  for (Duration passed; passed < time; passed = passed + kKnocksEvery) {
    for (const NodeId node : nodes) Knock(c, node);
    c.Advance(kKnocksEvery);
  }
}

TEST(RefusedAgent, ItsJobRunsOnAndIsNotStartedElsewhere) {
  Cluster c(Zones{.nodes = 3});
  const JobId job = c.Running(Spec(2));
  c.Silence(NodeId(1), true);
  KnockFor(c, {NodeId(1)}, Minutes(30));
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kRefused);
  EXPECT_EQ(c.node(NodeId(1)).message, kWhy);
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(c.attempt(job).id.number, 1u);
  EXPECT_EQ(c.Noted(HistoryKind::kNodeRefused), 1) << "said once, however often it knocks";
  EXPECT_EQ(c.Noted(HistoryKind::kNodeLost), 0);
  c.Return(NodeId(1));
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kReady) << "upgraded";
  EXPECT_EQ(c.node(NodeId(1)).message, "");
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(c.attempt(job).id.number, 1u);
}

TEST(RefusedAgent, ManyOfThemAreNoOutageAndNobodyIsLost) {
  Cluster c(Zones{.nodes = 5});
  const JobId job = c.Running(Spec(4));
  const std::vector<NodeId> old = {NodeId(1), NodeId(2), NodeId(3), NodeId(4)};
  for (const NodeId node : old) c.Silence(node, true);
  KnockFor(c, old, Minutes(30));
  EXPECT_FALSE(c.state().outage);
  EXPECT_EQ(c.Noted(HistoryKind::kOutageBegan), 0);
  EXPECT_EQ(c.Noted(HistoryKind::kNodeLost), 0);
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
}

TEST(RefusedAgent, ThoseThatRemainAreNotLostWhileTheOthersAreUpgraded) {
  Cluster c(Zones{.nodes = 5});
  const JobId job = c.Running(Spec(1));
  const NodeId node = c.attempt(job).nodes.at(0);
  c.RestartScheduler();
  for (std::uint32_t id = 1; id <= 5; ++id) {
    if (NodeId(id) != node) c.Return(NodeId(id));
  }
  KnockFor(c, {node}, Minutes(30));
  EXPECT_EQ(c.node(node).state, NodeState::kRefused);
  EXPECT_EQ(c.attempt(job).id.number, 1u);
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
}

TEST(RefusedAgent, NothingIsPlacedThere) {
  Cluster c;
  c.Silence(NodeId(1), true);
  Knock(c, NodeId(1));
  const JobId job = c.Submit(Spec(1));
  EXPECT_EQ(c.attempt(job).nodes, std::vector{NodeId(2)});
}

// An upgrade may be days away: its other nodes would stand idle for so long.
TEST(RefusedAgent, WhoOnlyWaitsForTheNodeLooksElsewhere) {
  Cluster c(Zones{.nodes = 2}, testing::Patient());
  const JobId leaves = c.Running(Spec(1));
  c.Cancel(leaves);
  const JobId claims = c.Submit(Spec(2));
  ASSERT_EQ(c.node(NodeId(1)).claim, c.attempt(claims).id);
  c.Silence(NodeId(1), true);
  Knock(c, NodeId(1));
  EXPECT_EQ(c.job(claims).state, JobState::kQueued);
  EXPECT_TRUE(IsFree(c.node(NodeId(2))));
  EXPECT_EQ(c.node(NodeId(1)).holder, c.attempt(leaves).id) << "what runs there keeps it";
}

TEST(RefusedAgent, WhoHasItAndWaitsForOthersLooksElsewhere) {
  Cluster c(Zones{.nodes = 2}, testing::Patient());
  c.Cancel(c.Running(Spec(1)));
  const JobId claims = c.Submit(Spec(2));
  ASSERT_EQ(c.node(NodeId(2)).holder, c.attempt(claims).id);
  c.Silence(NodeId(2), true);
  Knock(c, NodeId(2));
  EXPECT_EQ(c.job(claims).state, JobState::kQueued);
  EXPECT_FALSE(c.node(NodeId(2)).holder);
}

TEST(RefusedAgent, OneThatKnocksNoMoreIsLostAsAnyOther) {
  Cluster c(Zones{.nodes = 5});
  c.Silence(NodeId(1), true);
  Knock(c, NodeId(1));
  c.Advance(c.policy().node_lost_after / 4);
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kSilent);
  c.Advance(c.policy().node_lost_after);
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kLost);
}

TEST(RefusedAgent, AStrangerSaysNothingOfANode) {
  Cluster c;
  c.Do(NodeRefused{"n1", c.node(NodeId(1)).machine_id, kWhy});
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kReady) << "its agent is connected";
  c.Silence(NodeId(1), true);
  c.Do(NodeRefused{"n1", "another machine", kWhy});
  c.Do(NodeRefused{"nobody", "m", kWhy});
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kSilent);
}

}  // namespace
}  // namespace glim::core
