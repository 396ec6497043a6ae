// Budgets of teams: what counts as used, who waits, and what an operator may say.
#include "scheduler/core/lifecycle/budgets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/model/budget_use.h"
#include "scheduler/core/testing/cluster_builder.h"
#include "scheduler/core/testing/specs.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::Patient;
using testing::Spec;
using testing::Zones;

constexpr std::int64_t kHour = Hours(1).ms;
constexpr std::int64_t kGpus = 8;  // of each of the cluster's nodes

class BudgetTest : public ::testing::Test {
 protected:
  BudgetTest() { c.Do(ChangeAccounts{{{Team{"vision"}}, {Team{"audio"}}}, "ora"}); }

  Reply Give(std::int64_t gpu_ms, bool restart = false) {
    SetBudget set;
    set.team = "vision";
    set.gpu_ms_max = gpu_ms;
    set.restart = restart;
    set.by = "ora";
    return c.Do(set);
  }
  JobId Submit(const std::string& team, std::uint32_t nodes = 1) {
    const Reply reply = c.Do(SubmitJobs{"ann", team, "", {Spec(nodes)}});
    EXPECT_TRUE(reply.status.ok()) << reply.status.message();
    c.Settle();
    return reply.jobs.front();
  }
  void Cancel(JobId id) {
    c.Do(CancelJob{id, "ann"});
    c.Settle();
  }
  std::int64_t Used() { return UsedGpuMs(c.state().tables(), *c.state().FindBudget("vision"), c.now()); }
  bool Waits(JobId id) { return c.job(id).attempts == 0; }

  Cluster c{Zones{.nodes = 2}, Patient()};
};

TEST_F(BudgetTest, CountsWhatItsJobsHoldAndWhatTheyHeld) {
  Give(1000 * kHour);
  const JobId job = Submit("vision");
  Submit("audio");
  c.Advance(Hours(1));
  EXPECT_EQ(Used(), kGpus * kHour) << "it still runs, and the ledger has not booked it";
  Cancel(job);
  c.Advance(Hours(1));
  EXPECT_GE(Used(), kGpus * kHour);
  EXPECT_LT(Used(), kGpus * kHour + kHour) << "it has left";
}

TEST_F(BudgetTest, WhatRanBeforeItDoesNotCount) {
  Submit("vision");
  c.Advance(Hours(1));
  Give(1000 * kHour);
  EXPECT_EQ(Used(), 0);
  c.Advance(Hours(2));
  EXPECT_EQ(Used(), 2 * kGpus * kHour);
  Give(1000 * kHour, true);
  EXPECT_EQ(Used(), 0) << "reset";
}

TEST_F(BudgetTest, WhileItIsUsedUpItsJobsWaitAndWhatRunsRunsOn) {
  Give(kGpus * kHour);
  const JobId runs = Submit("vision");
  c.Advance(Minutes(59));
  const JobId before = Submit("vision");
  EXPECT_FALSE(Waits(before)) << "not all of it is used";
  Cancel(before);
  c.Advance(Minutes(2));
  const JobId job = Submit("vision");
  EXPECT_TRUE(Waits(job));
  EXPECT_EQ(c.job(runs).state, JobState::kRunning);
  const std::vector<Blocker> blockers = c.state().verdicts->at(ShapeOf(c.job(job)));
  ASSERT_EQ(blockers.size(), 1u);
  EXPECT_EQ(blockers[0].kind, BlockerKind::kBudget);
  EXPECT_THAT(blockers[0].message, HasSubstr("team vision has used up its budget of 8.0 GPU-hours since "));
  const JobId others = Submit("audio");
  EXPECT_FALSE(Waits(others)) << "it is the team's alone";
}

TEST_F(BudgetTest, MoreOfItOrNoneLetsItsJobsStart) {
  Give(1);
  const JobId before = Submit("vision");
  c.Advance(Minutes(1));
  Cancel(before);
  const JobId first = Submit("vision"), second = Submit("vision");
  ASSERT_TRUE(Waits(first) && Waits(second));
  Give(100 * kHour);
  EXPECT_FALSE(Waits(first));
  Cancel(first);
  Give(1);
  const JobId third = Submit("vision");
  EXPECT_TRUE(Waits(third));
  SetBudget none;
  none.team = "vision";
  c.Do(none);
  c.Advance(Minutes(1));
  EXPECT_FALSE(Waits(third));
  EXPECT_EQ(c.state().FindBudget("vision"), nullptr);
}

TEST_F(BudgetTest, WhatMakesNoSenseIsRefusedWithItsField) {
  EXPECT_EQ(Give(0).status.field(), "gpu_ms_max");
  EXPECT_EQ(Give(kBudgetGpuMsMax + 1).status.field(), "gpu_ms_max");
  SetBudget set;
  set.team = "no-team";
  EXPECT_EQ(c.Do(set).status.reason(), "NO_SUCH_BUDGET");
  set.gpu_ms_max = kHour;
  EXPECT_EQ(c.Do(set).status.field(), "team");
  EXPECT_EQ(c.state().tables().budgets.size(), 0u);
}

TEST_F(BudgetTest, WhatWasChangedMeanwhileIsRefusedAndADryRunChangesNothing) {
  Give(kHour);
  SetBudget set;
  set.team = "vision";
  set.gpu_ms_max = 2 * kHour;
  set.dry_run = true;
  EXPECT_TRUE(c.Do(set).status.ok());
  EXPECT_EQ(c.state().FindBudget("vision")->gpu_ms_max, kHour);
  set.dry_run = false;
  set.expected = Seen<Budget>{*c.state().FindBudget("vision")};
  c.Advance(Seconds(1));
  Give(3 * kHour);
  EXPECT_EQ(c.Do(set).status.reason(), "CHANGED_MEANWHILE");
  EXPECT_EQ(c.state().FindBudget("vision")->gpu_ms_max, 3 * kHour);
}

}  // namespace
}  // namespace glim::core
