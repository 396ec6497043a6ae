// Step 8 of the planning pass: every shape that waits gets its blockers, with amounts.
#include "scheduler/core/planning/explain.h"

#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"
#include "scheduler/core/testing/specs.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Labels;
using testing::Patient;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

using enum PriorityClass;

TEST(Blockers, NodesBusySaysHowManyAndWhoHasThem) {
  Cluster c(Zones{.nodes = 3}, Patient());
  const JobId a = c.Submit(Spec(1));
  const JobId b = c.Submit(Spec(1));
  const JobId waiting = c.Submit(Spec(2));
  ASSERT_EQ(c.Blockers(waiting).size(), 1u);
  const Blocker busy = c.Blockers(waiting)[0];
  EXPECT_EQ(busy.kind, BlockerKind::kNodesBusy);
  EXPECT_EQ(busy.have, 1);
  EXPECT_EQ(busy.need, 2);
  EXPECT_EQ(busy.jobs, (std::vector{a, b}));
  EXPECT_EQ(busy.message, "1 node free in zone z1, 2 needed; held by job 1, 2");
}

TEST(Blockers, ManyHoldersAreCounted) {
  Cluster c(Zones{.nodes = 30}, Patient());
  for (int i = 0; i < 30; ++i) c.Submit(Spec(1));
  const Blocker busy = c.Blockers(c.Submit(Spec(2))).at(0);
  EXPECT_LE(busy.jobs.size(), 20u);
  EXPECT_NE(busy.message.find("held by job 1, 2, 3 and "), std::string::npos) << busy.message;
}

TEST(Blockers, QuotaSaysWhatIsLeftAndWhatIsNeeded) {
  Policy policy = Patient();
  policy.default_user_quota.nodes[kNormal] = 1;
  Cluster c(Zones{.nodes = 2}, policy);
  c.Submit(Spec(2), "bob");
  const auto blockers = c.Blockers(c.Submit(Spec(2), "ann"));
  ASSERT_EQ(blockers.size(), 2u);
  EXPECT_EQ(blockers[0].kind, BlockerKind::kQuota);
  EXPECT_EQ(blockers[0].have, 1);
  EXPECT_EQ(blockers[0].need, 2);
  EXPECT_NE(blockers[0].message.find("quota of ann at normal: 1 node left, 2 needed"), std::string::npos);
  EXPECT_EQ(blockers[1].kind, BlockerKind::kNodesBusy);
}

TEST(Blockers, NoFitWhenTheClusterHasChangedSinceTheSubmission) {
  Cluster c(Zones{.nodes = 2}, Patient());
  const JobId first = c.Running(Spec(2));
  const JobId waiting = c.Submit(SpecWith(2, [](JobSpec& s) { s.placement.gpu_type = "a100"; }));
  NodeLabels changed = Labels("z1", "z1-l1");
  changed.gpu_type = "h100";
  c.Connect("n1", changed);
  c.Exit(first, 0, 0);
  const auto blockers = c.Blockers(waiting);
  ASSERT_EQ(blockers.size(), 1u);
  EXPECT_EQ(blockers[0].kind, BlockerKind::kInfeasible);
  EXPECT_EQ(blockers[0].have, 1);
  EXPECT_EQ(blockers[0].need, 2);
}

TEST(Blockers, LinkBusyWhenNodesAreFreeButTheLinkIsNot) {
  Policy policy = Patient();
  policy.cross_zone_nodes_min = 2;
  Cluster c(Zones{.zones = 2, .leaves = 1, .nodes = 3}, policy);
  const JobId cross_zone = c.Submit(Spec(4));
  ASSERT_EQ(c.attempt(cross_zone).zones.size(), 2u);
  c.AddNode(Labels("z1", "z1-l1"));
  c.Submit(SpecWith(1, [](JobSpec& s) { s.placement.zones = {"z2"}; }));
  const JobId waiting = c.Submit(Spec(2));
  ASSERT_EQ(c.Blockers(waiting).size(), 1u);
  EXPECT_EQ(c.Blockers(waiting)[0].kind, BlockerKind::kLinkBusy);
}

TEST(Blockers, SilentNodesAreNobodysAndNotFree) {
  Cluster c(Zones{.nodes = 2}, Patient());
  c.Silence(NodeId(1), true);
  const Blocker busy = c.Blockers(c.Submit(Spec(2))).at(0);
  EXPECT_EQ(busy.have, 1);
  EXPECT_TRUE(busy.jobs.empty());
}

TEST(Verdicts, JobsOfOneShapeShareOne) {
  Cluster c(Zones{.nodes = 1}, Patient());
  c.Submit(Spec(1));
  std::vector<JobSpec> same(100, Spec(1));
  c.Do(SubmitJobs{"ann", "", "", same, false});
  c.Submit(Spec(1), "bob");
  c.Submit(Spec(1, kLow));
  EXPECT_EQ(c.state().verdicts->size(), 3u);
  EXPECT_FALSE(c.Blockers(JobId(101)).empty());
}

TEST(Verdicts, OfJobsThatHaveStartedAreGone) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const JobId first = c.Running(Spec(1));
  const JobId second = c.Submit(Spec(1), "bob");
  EXPECT_FALSE(c.Blockers(second).empty());
  c.Finish(first);
  EXPECT_TRUE(c.state().verdicts->empty());
}

TEST(Verdicts, TheFirstOfAShapeMayStartAndTheRestStillHaveBlockers) {
  Cluster c(Zones{.nodes = 1}, Patient());
  c.Do(SubmitJobs{"ann", "", "", {Spec(1), Spec(1)}, false});
  EXPECT_EQ(c.job(JobId(1)).state, JobState::kStarting);
  EXPECT_EQ(c.Blockers(JobId(2)).at(0).kind, BlockerKind::kNodesBusy);
}

}  // namespace
}  // namespace glim::core
