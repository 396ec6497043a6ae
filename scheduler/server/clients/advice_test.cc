// Advice knows what the scheduler knows beside the rows: what it says is what happens at the next submission.
#include "scheduler/server/clients/advice.h"

#include <gtest/gtest.h>

#include <memory>

#include "scheduler/core/model/save_reach.h"
#include "scheduler/core/testing/cluster_builder.h"

namespace glim::server {
namespace {

using core::testing::Cluster;
using core::testing::Spec;
using core::testing::Zones;

Snapshot SnapshotOf(Cluster& c) {
  Snapshot snapshot;
  snapshot.tables = c.state().tables();
  snapshot.verdicts = c.state().verdicts;
  snapshot.policy = std::make_shared<const core::Policy>(c.policy());
  snapshot.counts = std::make_shared<const core::StateCounts>(c.state().index().counts);
  snapshot.liveness = std::make_shared<const LivenessMap>(c.state().liveness);
  snapshot.leader_since = c.state().leader_since;
  snapshot.outage = c.state().outage;
  return snapshot;
}

v1::PlanJobResponse Planned(Cluster& c, const core::JobSpec& spec, const std::string& user) {
  core::SubmitJobs event;
  event.user = user;
  event.team = "team";
  event.specs = {spec};
  v1::PlanJobResponse response;
  const Status status = PlanJobs(SnapshotOf(c), event, c.now(), &response);
  EXPECT_TRUE(status.ok()) << status.message();
  return response;
}

// n2 is free, and this leader has not heard it yet.
TEST(Advice, InTheFirstMinuteOfALeaderNobodyIsSaidToBeInterruptedForNodesThatAreHeardInAMoment) {
  Cluster c(Zones{.nodes = 2}, core::testing::Patient());
  const core::JobId running = c.Running(Spec(1));
  c.Advance(Hours(30));
  c.RestartScheduler();
  c.Return(core::NodeId(1));
  c.Settle();
  ASSERT_EQ(c.attempt(running).nodes[0], core::NodeId(1));
  const v1::PlanJobResponse planned = Planned(c, Spec(1), "ben");
  const core::JobId job = c.Submit(Spec(1), "ben");
  ASSERT_EQ(c.job(job).state, core::JobState::kQueued) << "its node is heard in a moment";
  EXPECT_FALSE(planned.jobs(0).has_start()) << planned.jobs(0).start().message();
}

// A quarantined node gives what it has as long as its agent is connected.
TEST(Advice, ASaveOnAQuarantinedNodeThatIsHeardIsWithinReach) {
  Cluster c(Zones{.nodes = 2}, core::testing::Patient());
  const core::JobId job = c.Running(Spec(1));
  c.script(job).own_folder = true;
  c.Step(job, 40);
  c.Save(job, 40);
  c.Suspend(job);
  c.Settle();
  core::Node node = c.node(core::NodeId(1));
  node.state = core::NodeState::kQuarantined;
  node.message = "for a test";
  c.state().Put(node);
  EXPECT_EQ(core::ReachOf(c.state(), c.job(job).durable).reach, core::Reach::kNow);
  EXPECT_EQ(core::ReachOf(CopyOfState(SnapshotOf(c)), c.job(job).durable).reach, core::Reach::kNow);
}

}  // namespace
}  // namespace glim::server
