// A pass marks nodes of a pool by their places in it. A node that is not in the pool (it was relabelled, or removed)
// has none, and nothing is read or marked for it.
#include "scheduler/core/planning/pass.h"

#include <functional>
#include <list>

#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Labels;
using testing::Patient;
using testing::Spec;
using testing::Zones;

// Nodes 1 and 2 are in the pool, 3 is in another, 99 is nowhere.
struct Strangers {
  Strangers() {
    NodeLabels other = Labels("z1", "z1-l1");
    other.pool = "other";
    c.AddNode(other);
    running = c.Running(Spec(1));
    waiting = c.Submit(Spec(2));
  }
  Cluster c{Zones{.nodes = 2}, Patient()};
  JobId running, waiting;
  const std::vector<NodeId> nodes{NodeId(2), NodeId(3), NodeId(99)};
};

TEST(APass, GivesAwayNoNodeOfAnotherPool) {
  Strangers s;
  Pass pass(s.c.state(), s.c.policy(), s.c.now());
  PlannedStart start;
  start.job = s.waiting;
  start.nodes = s.nodes;
  pass.Take(start, s.c.job(s.waiting));
  EXPECT_TRUE(pass.PoolOf("default").nodes[1].taken);
  EXPECT_FALSE(pass.PoolOf("other").nodes[0].taken);
}

TEST(APass, HoldsBackNoNodeOfAnotherPool) {
  Strangers s;
  Pass pass(s.c.state(), s.c.policy(), s.c.now());
  const TimePoint until = s.c.now() + Minutes(1);
  pass.HoldBack("default", s.nodes, until);
  EXPECT_EQ(pass.PoolOf("default").nodes[1].hold_until, until);
  EXPECT_FALSE(pass.PoolOf("other").nodes[0].hold_until);
}

TEST(APass, KeepsNoNodeOfAnotherPoolForAJobThatIsMoved) {
  Strangers s;
  Pass pass(s.c.state(), s.c.policy(), s.c.now());
  const TimePoint until = s.c.now() + Minutes(1);
  pass.Keep(AttemptIn(pass.PoolOf("default"), s.c.attempt(s.running).id), s.nodes, until);
  EXPECT_EQ(pass.PoolOf("default").nodes[1].hold_until, until);
  EXPECT_FALSE(pass.PoolOf("other").nodes[0].hold_until);
}

TEST(APass, KnowsNoNodeOfAPoolThatIsNotThere) {
  Strangers s;
  Pass pass(s.c.state(), s.c.policy(), s.c.now());
  EXPECT_EQ(NodeIn(pass.PoolOf("nowhere"), NodeId(1)), nullptr);
  EXPECT_EQ(NodeIn(pass.PoolOf("default"), NodeId(3)), nullptr);
  EXPECT_EQ(NodeIn(pass.PoolOf("default"), NodeId(2))->id, NodeId(2));
}

// Whoever queues jobs may write what they ask for in as many ways as there are words: a view is a walk over all nodes.
TEST(APass, HasOneViewForAllThatMayBeOnTheSameNodes) {
  Cluster c(Zones{.zones = 2, .nodes = 2}, Patient());
  Pass pass(c.state(), c.policy(), c.now());
  std::list<Job> jobs;  // which outlive the pass, as rows do
  const auto view = [&](const std::function<void(JobSpec&)>& change) {
    return &pass.AskOf(jobs.emplace_back(testing::JobRow(1, testing::SpecWith(1, change))));
  };
  const AskView* first = view([](JobSpec& s) { s.placement.zones = {"z1"}; });
  EXPECT_EQ(first->nodes.size(), 2u);
  EXPECT_EQ(view([](JobSpec& s) { s.placement.zones = {"nowhere", "z1", "z1"}; }), first);
  EXPECT_EQ(view([](JobSpec& s) {
              s.placement.zones = {"z1"};
              s.placement.leaf = LeafPolicy::kAny;
              s.gpus_per_node = 3;
            }),
            first);
  const AskView* all = view([](JobSpec&) {});
  EXPECT_NE(all, first);
  EXPECT_EQ(view([](JobSpec& s) { s.placement.zones = {"z2", "z1"}; }), all);
  const AskView* one = view([](JobSpec& s) { s.placement.node = "n3"; });
  EXPECT_EQ(one->nodes, (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(view([](JobSpec& s) {
              s.placement.node = "n3";
              s.placement.zones = {"z1"};
            })->nodes.size(),
            0u);
  EXPECT_EQ(view([](JobSpec& s) { s.placement.node = "n9"; })->nodes.size(), 0u);
  // A pool that nobody is in.
  EXPECT_EQ(view([](JobSpec& s) { s.pool = "empty"; })->nodes.size(), 0u);
}

// Which zone is the largest one that it may be in decides whether it may cross.
TEST(APass, TellsApartWhatMayBeInOtherZonesThatHaveNoNodeForIt) {
  Cluster c(Zones{.zones = 1, .nodes = 2}, Patient());
  for (int i = 0; i < 3; ++i) c.AddNode(Labels("z2", "z2-l1", 4));
  Pass pass(c.state(), c.policy(), c.now());
  const Job somewhere = testing::JobRow(1, Spec(1));
  const Job in_z1 = testing::JobRow(2, testing::SpecWith(1, [](JobSpec& s) { s.placement.zones = {"z1"}; }));
  const AskView& anywhere = pass.AskOf(somewhere);
  EXPECT_EQ(anywhere.zone_nodes_max, 3u);
  const AskView& here = pass.AskOf(in_z1);
  EXPECT_EQ(here.zone_nodes_max, 2u);
  EXPECT_EQ(here.nodes, anywhere.nodes);
}

}  // namespace
}  // namespace glim::core
