// A lost task: nobody vouches for its ranks, which may train on. It is stopped, and holds its node until the release.
#include <gtest/gtest.h>

#include "scheduler/core/lifecycle/desired.h"
#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;
using testing::Zones;

// Its supervisor was killed, its ranks train on: whoever got the node would share its GPUs with them.
TEST(ALostTask, HoldsItsNodeUntilItsAgentHasReleasedIt) {
  Cluster c(Zones{.nodes = 1});
  const JobId job = c.Running(Spec(1));
  const JobId next = c.Submit(Spec(1), "bob");
  c.script(job).stuck = true;
  c.Edit(job, 0, [](ObservedTask& task) {
    task.lost = true;
    task.phase = TaskPhase::kExited;
    task.pids = {4711};
  });
  c.Settle();
  EXPECT_EQ(c.node(NodeId(1)).holder, (AttemptId{job, 1}));
  EXPECT_EQ(c.attempt(next).state, AttemptState::kClaimed) << "it waits for the release";
  const auto desired = DesiredFor(c.state().tables(), NodeId(1));
  ASSERT_EQ(desired.size(), 1u);
  EXPECT_TRUE(desired[0].stop) << "what is left of it is stopped";
  c.script(job).stuck = false;
  c.Do(NodeReported{NodeId(1), c.session(NodeId(1)), true, c.agent(NodeId(1)).Observed()});
  c.Edit(job, 0, [](ObservedTask& task) { testing::ScriptedAgent::Release(task, 137); });
  EXPECT_EQ(c.node(NodeId(1)).holder, (AttemptId{next, 1}));
}

TEST(ALostTask, ThatDoesNotGoTakesItsNodeOut) {
  Cluster c(Zones{.nodes = 1});
  const JobId job = c.Running(Spec(1));
  c.script(job).stuck = true;
  c.Edit(job, 0, [](ObservedTask& task) { task.lost = true; });
  c.Advance(c.policy().kill_after_term + c.policy().release_max);
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kQuarantined);
  EXPECT_FALSE(c.node(NodeId(1)).stale_tasks.empty());
}

// It runs on without its supervisor, where its job was written off.
TEST(ALostTask, ThatIsStaleAsWellHoldsItsNodeUntilItsRelease) {
  Cluster c;
  const JobId job = c.Running(Spec(1));
  c.script(job).stuck = true;
  c.Silence(NodeId(1));
  c.Advance(c.policy().node_lost_after);
  c.agent(NodeId(1)).tasks.at({{job, 1}, 0}).lost = true;
  c.Return(NodeId(1));
  EXPECT_FALSE(IsFree(c.node(NodeId(1))));
  c.script(job).stuck = false;
  c.Settle();
  EXPECT_TRUE(IsFree(c.node(NodeId(1))));
}

}  // namespace
}  // namespace glim::core
