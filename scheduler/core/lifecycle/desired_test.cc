// DesiredFor: what a node should be running. Explicit to the end: nothing is stopped by being left out.
#include <gtest/gtest.h>

#include "scheduler/core/lifecycle/desired.h"
#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;
using testing::Zones;

std::vector<DesiredTask> Desired(Cluster& c, NodeId node = NodeId(1)) { return DesiredFor(c.state().tables(), node); }

TEST(Desired, AFreeOrUnknownNodeRunsNothing) {
  Cluster c;
  EXPECT_TRUE(Desired(c).empty());
  EXPECT_TRUE(Desired(c, NodeId(99)).empty());
}

TEST(Desired, EachNodeGetsItsPartOfTheGang) {
  Cluster c;
  const JobId job = c.Submit(Spec(2));
  for (std::uint32_t i = 0; i < 2; ++i) {
    const auto desired = Desired(c, NodeId(i + 1));
    ASSERT_EQ(desired.size(), 1u);
    EXPECT_EQ(desired[0].id, (TaskId{{job, 1}, i}));
    EXPECT_EQ(desired[0].job->id, job);
    EXPECT_EQ(desired[0].attempt->id, (AttemptId{job, 1}));
    EXPECT_FALSE(desired[0].stop);
    EXPECT_FALSE(desired[0].interrupt);
  }
}

TEST(Desired, IsLaunchedOnlyUntilTheAgentHasReportedIt) {
  Cluster c;
  const JobId job = c.Submit(Spec(1));
  EXPECT_TRUE(Desired(c)[0].launch);
  c.script(job).runs = false;
  c.Settle();
  EXPECT_FALSE(Desired(c)[0].launch);
}

TEST(Desired, ClaimsLaunchNothing) {
  Cluster c;
  const JobId running = c.Running(Spec(1));
  const JobId urgent = c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  ASSERT_EQ(c.node(NodeId(2)).holder, c.attempt(urgent).id);
  EXPECT_TRUE(Desired(c, NodeId(2)).empty());
  EXPECT_EQ(Desired(c, NodeId(1))[0].id.attempt.job, running);
  EXPECT_TRUE(Desired(c, NodeId(1))[0].interrupt);
}

TEST(Desired, AWithdrawnInterruptIsToldAsWell) {
  Cluster c;
  c.Running(Spec(2));
  const JobId urgent = c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  c.Cancel(urgent, "bob");
  const auto desired = Desired(c);
  EXPECT_TRUE(desired.at(0).interrupt);
  EXPECT_EQ(desired[0].attempt->agreements.back().state, AgreementState::kWithdrawn);
}

TEST(Desired, AStopIsListedUntilTheTaskIsReportedGone) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Cancel(job);
  EXPECT_TRUE(Desired(c).at(0).stop);
  EXPECT_EQ(Desired(c)[0].stop_reason, "cancelled by ann");
  c.Exit(job, 0, 143);
  EXPECT_TRUE(Desired(c, NodeId(1)).empty());
  EXPECT_TRUE(Desired(c, NodeId(2)).at(0).stop) << "the other is still there";
}

TEST(Desired, AStoppedTaskIsNotLaunched) {
  Cluster c;
  const JobId job = c.Submit(Spec(1));
  c.Cancel(job);
  EXPECT_FALSE(Desired(c).at(0).launch);
  EXPECT_TRUE(Desired(c)[0].stop);
}

TEST(Desired, StaleTasksAreStoppedBesideWhateverElseIsThere) {
  Cluster c;
  const JobId job = c.Running(Spec(1));
  c.Silence(NodeId(1));
  c.Advance(c.policy().node_lost_after);
  const auto desired = Desired(c);
  ASSERT_EQ(desired.size(), 1u);
  EXPECT_TRUE(desired[0].stop);
  EXPECT_FALSE(desired[0].launch);
  EXPECT_EQ(desired[0].id.attempt, (AttemptId{job, 1}));
  EXPECT_EQ(desired[0].stop_reason, "its job goes on elsewhere");
}

TEST(Desired, AStaleTaskWhoseJobIsForgottenIsStillStopped) {
  Cluster c;
  c.policy().finished_jobs_kept = 1;
  const JobId job = c.Running(Spec(1));
  c.Silence(NodeId(1));
  c.Advance(c.policy().node_lost_after);
  c.Cancel(job);
  c.SetNow(c.now() + Seconds(1));
  const JobId other = c.Submit(Spec(1));
  c.Settle();
  c.Finish(other);
  ASSERT_EQ(c.state().FindJob(job), nullptr);
  ASSERT_EQ(Desired(c).size(), 1u);
  EXPECT_TRUE(Desired(c)[0].stop);
  EXPECT_EQ(Desired(c)[0].job, nullptr);
}

}  // namespace
}  // namespace glim::core
