// The planners to compare with: what each would do where they differ.
#include "scheduler/sim/baselines/baseline_planner.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;
using testing::Zones;

Policy Patient() {
  Policy policy;
  policy.node_lost_after = Hours(1000);
  policy.start_max = Hours(1000);
  return policy;
}

JobSpec Limited(std::uint32_t nodes, Duration limit) {
  JobSpec spec = Spec(nodes);
  spec.time_limit = limit;
  return spec;
}

bool Waits(const Cluster& c, JobId job) { return c.job(job).state == JobState::kQueued; }
bool Runs(const Cluster& c, JobId job) { return c.job(job).state == JobState::kRunning; }

// --- fifo

TEST(Fifo, TheHeadBlocksThoseBehindItWhateverTheirClass) {
  Cluster c(Zones{.nodes = 3}, Patient(), PlannerOf(PlannerKind::kFifo));
  const JobId running = c.Running(Spec(2));
  const JobId head = c.Submit(Spec(2));
  const JobId small = c.Submit(Spec(1, PriorityClass::kExtremeHigh));
  c.Settle();
  EXPECT_TRUE(Waits(c, head));
  EXPECT_TRUE(Waits(c, small));
  c.Finish(running);
  EXPECT_TRUE(Runs(c, head));
  EXPECT_TRUE(Runs(c, small));
}

TEST(Fifo, OrderIsOfSubmissionAcrossShapes) {
  Cluster c(Zones{.nodes = 1}, Patient(), PlannerOf(PlannerKind::kFifo));
  std::vector<JobId> jobs = {c.Running(Spec(1))};
  for (const char* user : {"zoe", "ann", "mia", "ann"}) jobs.push_back(c.Submit(Spec(1), user));
  for (std::size_t i = 0; i + 1 < jobs.size(); ++i) {
    c.Finish(jobs[i]);
    EXPECT_TRUE(Runs(c, jobs[i + 1])) << i;
  }
}

TEST(Fifo, WhoWaitsIsToldHowManyNodesAreFree) {
  Cluster c(Zones{.nodes = 3}, Patient(), PlannerOf(PlannerKind::kFifo));
  c.Running(Spec(2));
  const JobId head = c.Submit(Spec(2));
  const auto& blockers = c.state().verdicts->at(ShapeOf(c.job(head)));
  ASSERT_EQ(blockers.size(), 1u);
  EXPECT_EQ(blockers[0].kind, BlockerKind::kNodesBusy);
  EXPECT_EQ(blockers[0].have, 1);
  EXPECT_EQ(blockers[0].need, 2);
}

// --- easy

TEST(Easy, PassesTheHeadOnlyWithWhatEndsInTime) {
  Cluster c(Zones{.nodes = 3}, Patient(), PlannerOf(PlannerKind::kEasy));
  const JobId running = c.Submit(Limited(2, Hours(2)));
  c.Settle();
  const JobId head = c.Submit(Limited(3, Hours(1)));
  const JobId long_one = c.Submit(Limited(1, Hours(3)));
  const JobId short_one = c.Submit(Limited(1, Hours(2)));
  c.Settle();
  EXPECT_TRUE(Waits(c, head));
  EXPECT_TRUE(Waits(c, long_one));
  EXPECT_TRUE(Runs(c, short_one));
  c.Finish(short_one);
  c.Finish(running);
  EXPECT_TRUE(Runs(c, head));
}

TEST(Easy, PassesTheHeadWithWhatLeavesItEnough) {
  Cluster c(Zones{.nodes = 4}, Patient(), PlannerOf(PlannerKind::kEasy));
  c.Submit(Limited(3, Hours(2)));
  c.Settle();
  const JobId head = c.Submit(Limited(3, Hours(1)));  // at 2 h it has 4 to choose from
  const JobId spare = c.Submit(Spec(1));              // without a limit
  const JobId none_left = c.Submit(Spec(1));
  c.Settle();
  EXPECT_TRUE(Waits(c, head));
  EXPECT_TRUE(Runs(c, spare));
  EXPECT_TRUE(Waits(c, none_left));
}

TEST(Easy, WhoHasNoLimitIsTakenToRunForEver) {
  Cluster c(Zones{.nodes = 2}, Patient(), PlannerOf(PlannerKind::kEasy));
  const JobId running = c.Submit(Spec(1));  // no limit: for ever
  c.Settle();
  const JobId head = c.Submit(Limited(2, Hours(1)));
  const JobId behind = c.Submit(Limited(1, Hours(1)));
  c.Settle();
  EXPECT_TRUE(Waits(c, head));
  EXPECT_TRUE(Runs(c, behind)) << "it ends before the job that has no limit";
  c.Finish(behind);
  c.Finish(running);
  EXPECT_TRUE(Runs(c, head));
}

// --- tiresias: 18,000 GPU-seconds are 2,250 s of one node of 8

constexpr Duration kServed = Seconds(2250);

TEST(Tiresias, WhoHasHadItsShareGivesWay) {
  Cluster c(Zones{.nodes = 1}, Patient(), PlannerOf(PlannerKind::kTiresias));
  const JobId first = c.Running(Spec(1));
  const JobId second = c.Submit(Spec(1));
  c.Settle();
  EXPECT_TRUE(Waits(c, second));
  c.Advance(kServed - Seconds(11));
  c.Settle();
  EXPECT_TRUE(Runs(c, first));
  c.Advance(Minutes(1));  // the plan looks again by itself
  c.Settle();
  EXPECT_TRUE(Runs(c, second));
  EXPECT_TRUE(Waits(c, first));
  c.Advance(kServed + Minutes(1));  // both have had theirs: first come, first served
  c.Settle();
  EXPECT_TRUE(Runs(c, first));
  EXPECT_TRUE(Waits(c, second));
}

TEST(Tiresias, OfTheSecondQueueTheLastComeGoesFirst) {
  Cluster c(Zones{.nodes = 2}, Patient(), PlannerOf(PlannerKind::kTiresias));
  const JobId first = c.Running(Spec(1));
  const JobId second = c.Running(Spec(1));
  c.Advance(kServed + Seconds(30));
  const JobId fresh = c.Submit(Spec(1));
  c.Settle();
  EXPECT_TRUE(Runs(c, fresh));
  EXPECT_TRUE(Runs(c, first));
  EXPECT_TRUE(Waits(c, second));
}

TEST(Tiresias, NobodyIsInterruptedForWhatIsFree) {
  Cluster c(Zones{.nodes = 3}, Patient(), PlannerOf(PlannerKind::kTiresias));
  const JobId served = c.Running(Spec(1));
  c.Advance(kServed + Seconds(30));
  const JobId two = c.Submit(Spec(2));
  c.Settle();
  EXPECT_TRUE(Runs(c, two));
  EXPECT_TRUE(Runs(c, served));
  EXPECT_EQ(c.job(served).interrupts, 0u);
}

TEST(Tiresias, SeveralStartsShareAVictimsNodes) {
  Cluster c(Zones{.nodes = 4}, Patient(), PlannerOf(PlannerKind::kTiresias));
  const JobId served = c.Running(Spec(4));
  c.Advance(kServed + Seconds(30));  // 4 nodes have their share sooner
  const Reply reply = c.Do(SubmitJobs{"ann", "team", "", {Spec(2), Spec(1)}, false});
  ASSERT_EQ(reply.jobs.size(), 2u);
  c.Settle();
  EXPECT_TRUE(Runs(c, reply.jobs[0]));
  EXPECT_TRUE(Runs(c, reply.jobs[1]));
  EXPECT_TRUE(Waits(c, served));
  EXPECT_EQ(c.job(served).interrupts, 1u);
}

TEST(Baselines, AGangThatHasGivenBackSomeNodesCountsForTheRest) {
  for (const PlannerKind planner : {PlannerKind::kFifo, PlannerKind::kEasy, PlannerKind::kTiresias}) {
    Cluster c(Zones{.nodes = 3}, Patient(), PlannerOf(planner));
    const JobId ending = c.Running(Limited(2, Hours(1)));
    c.Exit(ending, 0, 0);
    const JobId next = c.Submit(Limited(3, Hours(1)));
    c.Settle();
    EXPECT_TRUE(Waits(c, next)) << "two of three nodes are free";
    c.Exit(ending, 1, 0);
    c.Settle();
    EXPECT_TRUE(Runs(c, next));
  }
}

TEST(Baselines, ANodeThatIsAwayIsNotUsed) {
  for (const PlannerKind planner : {PlannerKind::kFifo, PlannerKind::kEasy, PlannerKind::kTiresias}) {
    Cluster c(Zones{.nodes = 2}, Patient(), PlannerOf(planner));
    c.Silence(NodeId(1), true);
    const JobId both = c.Submit(Limited(2, Hours(1)));
    c.Settle();
    EXPECT_TRUE(Waits(c, both));
    c.Return(NodeId(1));
    c.Settle();
    EXPECT_TRUE(Runs(c, both));
  }
}

}  // namespace
}  // namespace glim::core
