// A pass marks nodes of a pool by their places in it. A node that is not in the pool (it was relabelled, or removed)
// has none, and nothing is read or marked for it.
#include "scheduler/core/planning/pass.h"

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

}  // namespace
}  // namespace glim::core
