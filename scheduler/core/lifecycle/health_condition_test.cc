// What is so of a node's hardware as long as its agent tells it.
#include <gtest/gtest.h>

#include "scheduler/core/lifecycle/health.h"
#include "scheduler/core/testing/cluster_builder.h"
#include "scheduler/core/testing/health_reports.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::IsSo;
using testing::Patient;
using testing::Spec;
using testing::Tell;
using testing::Zones;

const NodeId kSick{1}, kWell{2};

TEST(ACondition, KeepsJobsAwayAsLongAsItIsTold) {
  Cluster c(Zones{.nodes = 2}, Patient());
  const JobId there = c.Running(Spec(1));
  Tell(c, kSick, {}, {IsSo("link_down")});
  const TimePoint since = c.node(kSick).health_conditions.at(0).since;
  EXPECT_EQ(since, c.now());
  EXPECT_EQ(c.job(there).state, JobState::kRunning) << "who is there runs on";
  c.Finish(there);
  const JobId waits = c.Submit(Spec(2));
  EXPECT_EQ(c.job(waits).state, JobState::kQueued);
  EXPECT_EQ(
      c.Blockers(waits)[0].message,
      "1 of 2 nodes that fit take jobs, 2 needed; 1 unhealthy; node n1 is unhealthy: link_down of mlx5_0/1: as it "
      "was read");
  c.Advance(Minutes(5));
  Tell(c, kSick, {}, {IsSo("link_down")});
  c.Report(kSick);  // an agent that does not check says nothing of it
  EXPECT_EQ(c.node(kSick).health_conditions.at(0).since, since);
  EXPECT_EQ(c.Noted(HistoryKind::kHealthCondition), 1);
  EXPECT_EQ(c.node(kSick).use, Use::kUnavailable);
  Tell(c, kSick, {}, {});
  EXPECT_EQ(c.Noted(HistoryKind::kHealthConditionOver), 1);
  EXPECT_EQ(c.job(waits).state, JobState::kStarting) << "by itself";
}

TEST(ACondition, EndsClaims) {
  Cluster c(Zones{.nodes = 2}, Patient());
  c.Running(Spec(2));
  const JobId high = c.Submit(Spec(1, PriorityClass::kHigh), "bob");
  const NodeId claimed = c.attempt(high).nodes[0];
  Tell(c, claimed, {}, {IsSo("link_down")});
  EXPECT_FALSE(c.node(claimed).claim);
}

TEST(ACondition, DrainsOnceAndNotAgainWhenTheNodeIsGivenBack) {
  for (const char* check :
       {"pcie_slow", "nvlink_down", "gpu_row_remap_failed", "disk_read_only", "disk_failing", "link_slow"}) {
    SCOPED_TRACE(check);
    Cluster c(Zones{.nodes = 2}, Patient());
    const JobId job = c.Running(Spec(1));
    c.Step(job, 40);
    Tell(c, kSick, {}, {IsSo(check)});
    c.Settle();
    EXPECT_EQ(c.attempt(job, 1).save, SaveResult::kSaved) << "it leaves like from any drained node";
    EXPECT_EQ(c.attempt(job).nodes, std::vector{kWell});
    EXPECT_TRUE(c.node(kSick).cordon->drained);
    c.Do(UncordonNode{"n1", "op"});
    Tell(c, kSick, {}, {IsSo(check)});
    EXPECT_TRUE(IsSound(c.node(kSick))) << "the operator has seen it";
    Tell(c, kSick, {}, {});
    Tell(c, kSick, {}, {IsSo(check)});
    EXPECT_FALSE(IsUsable(c.node(kSick))) << "it began anew";
  }
}

TEST(ACondition, OfAGpuThatIsGoneTakesTheNodeOut) {
  Cluster c(Zones{.nodes = 2}, Patient());
  const JobId job = c.Running(Spec(1));
  Tell(c, kSick, {}, {IsSo("gpu_lost", "0000:3b:00.0")});
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kGpuFailure);
  EXPECT_EQ(c.attempt(job).nodes, std::vector{kWell});
  EXPECT_FALSE(c.node(kSick).cordon->drain);
}

TEST(ACondition, OfOthersIsRecordedAlone) {
  for (const char* check : {"gpu_throttled", "gpu_retired_pages_pending", "disk_worn", "disk_slow", "disk_full_soon",
                            "cpu_throttled", "health_blind"}) {
    Cluster c(Zones{.nodes = 1}, Patient());
    const JobId job = c.Running(Spec(1));
    Tell(c, kSick, {}, {IsSo(check)});
    EXPECT_EQ(c.job(job).state, JobState::kRunning) << check;
    EXPECT_FALSE(c.node(kSick).cordon) << check;
    EXPECT_EQ(c.Noted(HistoryKind::kHealthCondition), 1) << check;
  }
}

TEST(ACondition, IsJudgedAgainWhenThePolicyHasChanged) {
  Cluster c(Zones{.nodes = 1}, Patient());
  Tell(c, kSick, {}, {IsSo("link_down")});
  EXPECT_FALSE(IsUsable(c.node(kSick)));
  c.policy().health.rules = {{.check = "link_down"}};
  Tell(c, kSick, {}, {IsSo("link_down")});
  EXPECT_TRUE(IsUsable(c.node(kSick)));
  c.policy().health.rules = {{.check = "link_down", .verdict = HealthVerdict::kOut}};
  Tell(c, kSick, {}, {IsSo("link_down")});
  EXPECT_TRUE(c.node(kSick).cordon);
  EXPECT_EQ(c.Noted(HistoryKind::kHealthCondition), 1);
}

TEST(ACondition, IsForgottenWhenTheOperatorReturnsTheNode) {
  Cluster c(Zones{.nodes = 1}, Patient());
  Tell(c, kSick, {}, {IsSo("link_down")});
  ASSERT_TRUE(c.Do(ReturnNode{"n1"}).status.ok());
  EXPECT_TRUE(IsUsable(c.node(kSick))) << "its agent may check no more";
  Tell(c, kSick, {}, {IsSo("link_down")});
  EXPECT_FALSE(IsUsable(c.node(kSick)));
}

}  // namespace
}  // namespace glim::core
