#include "scheduler/core/planning/quota_use.h"

#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"
#include "scheduler/core/testing/specs.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Patient;
using testing::Spec;
using testing::Zones;

using enum PriorityClass;

Quota Normal(std::uint32_t nodes) { return {{{kNormal, nodes}}}; }

TEST(QuotaUse, TheTightestOfUserTeamAndPoolIsNamed) {
  Policy policy = Patient();
  policy.default_user_quota = Normal(8);
  policy.team_quota["team"] = Normal(3);
  policy.pool_quota["default"] = Normal(5);
  Cluster c(Zones{.nodes = 8}, policy);
  const JobId job = c.Running(Spec(2));
  const QuotaUse use(c.state());
  const auto left = use.LeftFor(c.job(job), kNormal);
  EXPECT_EQ(left.nodes, 1u);
  EXPECT_EQ(left.of, "team team");
}

TEST(QuotaUse, AUserMayNotUseTheTeamsWholeQuotaTwice) {
  Policy policy = Patient();
  policy.team_quota["team"] = Normal(3);
  Cluster c(Zones{.nodes = 8}, policy);
  c.Running(Spec(2), "ann");
  const JobId second = c.Submit(Spec(2), "bob");
  EXPECT_TRUE(c.attempt(second).borrowed) << "it runs on what nobody else needs";
  const JobId third = c.Submit(Spec(1), "eve");
  EXPECT_FALSE(c.attempt(third).borrowed) << "what is borrowed counts against nobody";
}

TEST(QuotaUse, WhatWasBorrowedIsSoNoLongerOnceThereIsRoom) {
  Policy policy = Patient();
  policy.default_user_quota = Normal(2);
  Cluster c(Zones{.nodes = 4}, policy);
  const JobId first = c.Running(Spec(2));
  const JobId second = c.Running(Spec(2));
  EXPECT_TRUE(QuotaUse(c.state()).Borrowed(c.attempt(second).id));
  c.Finish(first);
  EXPECT_FALSE(QuotaUse(c.state()).Borrowed(c.attempt(second).id));
}

TEST(QuotaUse, ABorrowerGivesBackToAnOwnerOfItsClass) {
  Policy policy = Patient();
  policy.default_user_quota = Normal(2);
  Cluster c(Zones{.nodes = 4}, policy);
  c.Running(Spec(2), "ann");
  const JobId borrower = c.Running(Spec(2), "ann");
  c.Advance(Minutes(1));
  const JobId owner = c.Submit(Spec(2), "bob");
  EXPECT_EQ(c.job(borrower).state, JobState::kInterrupting);
  EXPECT_EQ(c.job(owner).state, JobState::kStarting);
}

// Whoever asks for a higher class than their quota gives them takes nothing from those who keep to theirs: finding A3.
TEST(QuotaPromise, AHigherClassIsNoWayRoundIt) {
  Policy policy = Patient();
  policy.default_user_quota.nodes = {{kNormal, 8}, {kVeryHigh, 0}};
  Cluster c(Zones{.nodes = 4}, policy);
  const Reply refused = c.Do(SubmitJobs{"eve", "team", "", {Spec(1, kVeryHigh)}, false});
  EXPECT_EQ(refused.status.code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(refused.status.field(), "priority");
  for (const char* part : {"very_high", "eve", "0 nodes"}) {
    EXPECT_NE(refused.status.message().find(part), std::string::npos) << refused.status.message();
  }
  EXPECT_NE(refused.status.fix().find("glim admin quota set user:eve very_high 1"), std::string::npos);
  EXPECT_NE(refused.status.fix().find("use class normal or lower"), std::string::npos) << refused.status.fix();
  EXPECT_EQ(c.Do(SubmitJobs{"eve", "team", "", {Spec(1, kExtremeHigh)}, false}).status.code(),
            StatusCode::kPermissionDenied)
      << "above the highest class named it is 0";
  EXPECT_TRUE(c.Submit(Spec(1, kHigh), "eve"));
}

TEST(QuotaPromise, ANumberCountsItsClassAndAllAbove) {
  Policy policy = Patient();
  policy.default_user_quota.nodes = {{kNormal, 4}, {kHigh, 2}};
  Cluster c(Zones{.nodes = 12}, policy);
  EXPECT_FALSE(c.attempt(c.Submit(Spec(2, kHigh))).borrowed);
  EXPECT_FALSE(c.attempt(c.Submit(Spec(2, kNormal))).borrowed);
  EXPECT_TRUE(c.attempt(c.Submit(Spec(1, kNormal))).borrowed) << "two at high and two at normal are the four";
  EXPECT_TRUE(c.attempt(c.Submit(Spec(1, kHigh))).borrowed);
  EXPECT_FALSE(c.attempt(c.Submit(Spec(4, kUnderNormal))).borrowed) << "below the lowest there is no limit";
}

TEST(QuotaPromise, WhatIsBorrowedIsLowForOrderProtectionAndEviction) {
  Policy policy = Patient();
  policy.user_quota["eve"].nodes = {{kVeryHigh, 1}};
  Cluster c(Zones{.nodes = 2}, policy);
  const JobId own = c.Running(Spec(1, kVeryHigh), "eve");
  const JobId beyond = c.Running(Spec(1, kVeryHigh), "eve");
  EXPECT_EQ(c.attempt(beyond).charged, kVeryHigh);
  EXPECT_EQ(c.job(beyond).priority, kLow);
  c.Advance(Minutes(1));
  const JobId waiting = c.Submit(Spec(1, kVeryHigh), "eve");
  const JobId below = c.Submit(Spec(1, kBelowNormal), "bob");
  EXPECT_EQ(c.job(beyond).state, JobState::kInterrupting);
  EXPECT_EQ(c.job(own).state, JobState::kRunning);
  EXPECT_EQ(c.job(below).state, JobState::kStarting);
  EXPECT_EQ(c.job(waiting).state, JobState::kQueued);
  c.Settle();
  EXPECT_EQ(c.job(beyond).state, JobState::kQueued);
  EXPECT_EQ(c.job(beyond).priority, kVeryHigh) << "what it will be tried as";
}

TEST(QuotaPromise, WhatIsBorrowedGoesBeforeOtherLow) {
  Policy policy = Patient();
  policy.user_quota["eve"].nodes = {{kHigh, 1}};
  Cluster c(Zones{.nodes = 3}, policy);
  c.Running(Spec(1, kHigh), "eve");
  const JobId beyond = c.Running(Spec(1, kHigh), "eve");
  c.Advance(Minutes(1));
  const JobId low = c.Running(Spec(1, kLow), "bob");  // it has run for less, and would lose less
  c.Advance(Minutes(1));
  c.Submit(Spec(1, kNormal), "ann");
  EXPECT_EQ(c.job(beyond).state, JobState::kInterrupting);
  EXPECT_EQ(c.job(low).state, JobState::kRunning);
}

TEST(QuotaPromise, WhoeverBorrowsWaitsBehindLow) {
  Policy policy = Patient();
  policy.user_quota["eve"].nodes = {{kHigh, 1}};
  Cluster c(Zones{.nodes = 2}, policy);
  c.Running(Spec(1, kHigh), "eve");
  const JobId busy = c.Running(Spec(1, kExtremeHigh), "ann");
  const JobId beyond = c.Submit(Spec(1, kHigh), "eve");
  c.Advance(Seconds(10));
  const JobId low = c.Submit(Spec(1, kLow), "bob");
  c.Finish(busy);
  EXPECT_EQ(c.job(low).state, JobState::kRunning);
  EXPECT_EQ(c.job(beyond).state, JobState::kQueued);
  EXPECT_EQ(c.Blockers(beyond).at(0).kind, BlockerKind::kQuota);
  EXPECT_NE(c.Blockers(beyond).at(0).message.find("counts as class low"), std::string::npos);
}

// Twelve of eve's twenty nodes are beyond her quota, and all her jobs say that a restore takes them a day. They are
// right about that, as far as the scheduler sees.
TEST(QuotaPromise, WhatAJobSaysOfItsRestoreKeepsNobodysNode) {
  Policy policy = Patient();
  policy.default_user_quota.nodes = {{kNormal, 8}, {kVeryHigh, 0}};
  Cluster c(Zones{.nodes = 20}, policy);
  std::vector<JobId> jobs;
  jobs.reserve(20);
  for (int i = 0; i < 20; ++i) jobs.push_back(c.Submit(Spec(1, kHigh), "eve"));
  c.Settle();
  c.Advance(Hours(24));
  for (const JobId job : jobs) {
    c.Edit(job, 0, [](ObservedTask& task) {
      task.ranks[0].restored_step = 0;
      task.ranks[0].restore_time = Hours(24);
    });
    c.Suspend(job, "eve");
  }
  c.Settle();
  for (const JobId job : jobs) c.Resume(job, "eve");
  c.Settle();
  c.Advance(Seconds(10));
  std::size_t borrowed = 0;
  for (const JobId job : jobs) borrowed += c.attempt(job).borrowed ? 1 : 0;
  ASSERT_EQ(borrowed, 12u);
  const JobId normal = c.Submit(Spec(1, kNormal), "ann");
  EXPECT_EQ(c.job(normal).state, JobState::kStarting) << "the min_run of what is borrowed is over";
  const JobId high = c.Submit(Spec(1, kHigh), "ben");
  EXPECT_EQ(c.job(high).state, JobState::kStarting);
}

// Within her quota, a class below.
TEST(QuotaPromise, WhatAJobSaysOfItsRestoreProtectsItForThePolicysBoundAtMost) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const JobId job = c.Submit(Spec(1), "eve");
  c.Settle();
  c.Advance(Hours(30));
  c.Edit(job, 0, [](ObservedTask& task) {
    task.ranks[0].restored_step = 0;
    task.ranks[0].restore_time = Hours(24);
  });
  c.Suspend(job, "eve");
  c.Settle();
  c.Resume(job, "eve");
  c.Settle();
  const JobId high = c.Submit(Spec(1, kHigh), "ben");
  c.Advance(c.policy().min_run_max - Milliseconds(1));
  EXPECT_EQ(c.job(high).state, JobState::kQueued);
  c.Advance(Milliseconds(1));
  EXPECT_EQ(c.job(high).state, JobState::kStarting);
}

// A starved borrower would come before all: the promise is to the others.
TEST(QuotaPromise, NoStartIsPromisedBeyondIt) {
  Policy policy = Patient();
  policy.user_quota["eve"].nodes = {{kHigh, 1}};
  Cluster c(Zones{.nodes = 2}, policy);
  c.Running(Spec(1, kHigh), "eve");
  c.Running(Spec(1, kNormal), "ann");
  const JobId beyond = c.Submit(Spec(1, kHigh), "eve");
  c.Advance(Hours(30));
  EXPECT_EQ(c.job(beyond).state, JobState::kQueued);
}

// It gives way to other low with its nodes, and so with its claims on them.
TEST(QuotaPromise, WhatIsBorrowedGivesItsClaimsToOtherLow) {
  Policy policy = Patient();
  policy.user_quota["eve"] = Normal(1);
  Cluster c(Zones{.nodes = 2}, policy);
  c.Running(Spec(1), "eve");
  const JobId leaves = c.Running(Spec(1), "ann");
  c.Cancel(leaves);
  const JobId beyond = c.Submit(Spec(1), "eve");
  ASSERT_EQ(c.node(NodeId(2)).claim, c.attempt(beyond).id);
  ASSERT_TRUE(c.attempt(beyond).borrowed);
  const JobId low = c.Submit(Spec(1, kLow), "bob");
  EXPECT_EQ(c.node(NodeId(2)).claim, c.attempt(low).id);
  EXPECT_EQ(c.job(beyond).state, JobState::kQueued);
  c.Submit(Spec(1), "eve");
  EXPECT_EQ(c.node(NodeId(2)).claim, c.attempt(low).id) << "and not to who borrows as well";
}

TEST(QuotaPromise, AQueuedJobWhoseClassBecomesForbiddenWaitsAndNeverFails) {
  Policy policy = Patient();
  policy.user_quota["eve"].nodes = {{kHigh, 4}};
  Cluster c(Zones{.nodes = 1}, policy);
  const JobId busy = c.Running(Spec(1, kExtremeHigh), "ann");
  const JobId waits = c.Submit(Spec(1, kHigh), "eve");
  c.SetQuota("eve", kHigh, 0);
  c.Finish(busy);
  EXPECT_EQ(c.job(waits).state, JobState::kQueued) << "a node is free, and it may not have it";
  ASSERT_EQ(c.Blockers(waits).size(), 1u);
  EXPECT_EQ(c.Blockers(waits)[0].kind, BlockerKind::kQuota);
  EXPECT_NE(c.Blockers(waits)[0].message.find("not allowed"), std::string::npos);
  c.SetQuota("eve", kHigh, 1);
  EXPECT_EQ(c.job(waits).state, JobState::kStarting);
}

TEST(QuotaPromise, AQuotaThatIsCutMakesWhatRunsBorrowed) {
  Policy policy = Patient();
  policy.user_quota["eve"].nodes = {{kHigh, 4}};
  Cluster c(Zones{.nodes = 2}, policy);
  const JobId runs = c.Running(Spec(2, kHigh), "eve");
  c.SetQuota("eve", kHigh, 1);
  EXPECT_EQ(c.job(runs).state, JobState::kRunning) << "nobody needs its nodes";
  EXPECT_TRUE(c.attempt(runs).borrowed);
  EXPECT_EQ(c.job(runs).priority, kLow);
  c.SetQuota("eve", kHigh, 2);
  EXPECT_FALSE(c.attempt(runs).borrowed);
  EXPECT_EQ(c.job(runs).priority, kHigh);
}

JobSpec JobIn(const std::string& pool, std::uint32_t nodes) {
  JobSpec spec = Spec(nodes);
  spec.pool = pool;
  return spec;
}

TEST(QuotaPromise, AStarIsTheSumOverPools) {
  Policy policy = Patient();
  policy.user_quota["eve"] = Normal(3);
  Cluster c(Zones{.nodes = 4}, policy);
  NodeLabels labels = testing::Labels("z1", "z1-l1");
  labels.pool = "a100";
  for (int i = 0; i < 4; ++i) c.AddNode(labels);
  EXPECT_FALSE(c.attempt(c.Submit(JobIn("default", 2), "eve")).borrowed);
  EXPECT_FALSE(c.attempt(c.Submit(JobIn("a100", 1), "eve")).borrowed);
  EXPECT_TRUE(c.attempt(c.Submit(JobIn("a100", 1), "eve")).borrowed);
  const Reply reply = c.Do(ChangeAccounts{{{QuotaRow{{QuotaOf::kUser, "bob", "a100"}, kNormal, 1}}}, "op"});
  ASSERT_TRUE(reply.status.ok());
  EXPECT_FALSE(c.attempt(c.Submit(JobIn("a100", 1), "bob")).borrowed);
  EXPECT_FALSE(c.attempt(c.Submit(JobIn("default", 2), "bob")).borrowed) << "a quota of a pool is of that pool";
}

TEST(QuotaBounds, TheNearestOfUserTeamAndDefaultBoundsAUser) {
  Accounts accounts;
  const auto give = [&](QuotaOf of, const std::string& subject, std::uint32_t nodes, const std::string& pool = "*") {
    accounts.Change({QuotaRow{{of, subject, pool}, kNormal, nodes}});
  };
  give(QuotaOf::kDefaultUser, "", 1);
  give(QuotaOf::kTeamUser, "vision", 2);
  give(QuotaOf::kUser, "kim", 3);
  give(QuotaOf::kUser, "lee", 4, "a100");
  const auto numbers = [&](const std::string& user, const std::string& team, const std::string& pool) {
    std::vector<std::uint32_t> found;
    for (const QuotaBound& bound : BoundsOf(accounts, user, team, pool)) {
      found.push_back(NumberFor(*bound.numbers, kNormal));
    }
    return found;
  };
  using Numbers = std::vector<std::uint32_t>;
  EXPECT_EQ(numbers("kim", "vision", "default"), Numbers{3});
  EXPECT_EQ(numbers("ann", "vision", "default"), Numbers{2});
  EXPECT_EQ(numbers("ann", "speech", "default"), Numbers{1});
  EXPECT_EQ(numbers("lee", "speech", "a100"), (Numbers{1, 4})) << "for each pool, and for their sum, the nearest";
}

}  // namespace
}  // namespace glim::core
