// A disabled user, and a team's pools: what is refused at submit, what waits and why, what runs on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/lifecycle/account_bars.h"
#include "scheduler/core/model/account_access.h"
#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::Labels;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

using enum PriorityClass;

User Kim(bool disabled) {
  User kim{"kim", {"vision"}};
  kim.disabled = disabled;
  return kim;
}

Team Vision(std::vector<std::string> pools, std::string default_pool = "") {
  Team vision{"vision"};
  vision.pools = std::move(pools);
  vision.default_pool = std::move(default_pool);
  return vision;
}

// n1 and n2 in pool default, n3 in pool a100; kim is in team vision.
struct Two : Cluster {
  Two() : Cluster(Zones{.nodes = 2}) {
    NodeLabels labels = Labels("z1", "z1-l1");
    labels.pool = "a100";
    AddNode(labels);
    Change({{Vision({})}, {Kim(false)}});
  }
  Reply Change(std::vector<AccountChange> changes) { return Do(ChangeAccounts{std::move(changes), "op"}); }
  Reply Ask(JobSpec spec, const std::string& request = "") {
    return Do(SubmitJobs{"kim", "", request, {std::move(spec)}, false});
  }
};

JobSpec In(const std::string& pool, std::uint32_t nodes = 1, PriorityClass priority = kNormal) {
  return SpecWith(nodes, [&](JobSpec& s) {
    s.pool = pool;
    s.priority = priority;
  });
}

TEST(ADisabledUser, SubmitsNothingAndTheirJobsWaitWhileWhatRunsRunsOn) {
  Two c;
  const JobId runs = c.Ask(Spec(2)).jobs.at(0);
  const JobId waits = c.Ask(Spec(1)).jobs.at(0);
  c.Settle();
  ASSERT_TRUE(c.Change({{Kim(true)}}).status.ok());
  EXPECT_EQ(c.Ask(Spec(1)).status.reason(), "USER_DISABLED");
  c.Settle();
  EXPECT_EQ(c.job(runs).state, JobState::kRunning);
  c.Finish(runs);
  EXPECT_EQ(c.job(waits).state, JobState::kQueued);
  ASSERT_EQ(c.Blockers(waits).size(), 1u);
  EXPECT_EQ(c.Blockers(waits)[0].kind, BlockerKind::kUserDisabled);
  EXPECT_THAT(c.Blockers(waits)[0].message, HasSubstr("user kim is disabled"));
  ASSERT_TRUE(c.Change({{Kim(false)}}).status.ok());
  c.Settle();
  EXPECT_EQ(c.job(waits).state, JobState::kRunning);
}

// What has its nodes runs on; what waits for them gives its claims up, and whoever was to leave stays.
TEST(ADisabledUser, GivesUpWhatIsClaimed) {
  Two c;
  const JobId victim = c.Running(Spec(2), "ann");
  const JobId claims = c.Ask(Spec(2, kHigh)).jobs.at(0);
  ASSERT_EQ(c.attempt(claims).state, AttemptState::kClaimed);
  ASSERT_TRUE(c.attempt(victim).open_agreement());
  ASSERT_TRUE(c.Change({{Kim(true)}}).status.ok());
  EXPECT_EQ(c.job(claims).state, JobState::kQueued);
  EXPECT_FALSE(c.attempt(victim).open_agreement());
}

TEST(ADisabledUser, IsNotAheadOfOthers) {
  Two c;
  c.Change({{Kim(true)}});
  const JobId other = c.Submit(Spec(1), "ann");
  c.Settle();
  EXPECT_EQ(c.job(other).state, JobState::kRunning);
}

TEST(ATeamsPools, AreThePoolsOfItsJobs) {
  Two c;
  ASSERT_TRUE(c.Change({{Vision({"a100"})}}).status.ok());
  const Status refused = c.Ask(In("default")).status;
  EXPECT_EQ(refused.reason(), "POOL_NOT_ALLOWED");
  EXPECT_EQ(refused.field(), "pool");
  EXPECT_THAT(refused.fix(), HasSubstr("use one of a100"));
  EXPECT_TRUE(c.Ask(In("a100")).status.ok());
  EXPECT_TRUE(c.Do(SubmitJobs{"ann", "", "", {Spec(1)}, false}).status.ok()) << "in no team";
}

TEST(ATeamsPools, WhatWaitsInAnotherSaysSo) {
  Two c;
  c.Submit(Spec(2), "ann");
  const JobId waits = c.Ask(In("default")).jobs.at(0);
  c.Settle();
  ASSERT_TRUE(c.Change({{Vision({"a100"})}}).status.ok());
  ASSERT_EQ(c.Blockers(waits).size(), 1u);
  EXPECT_EQ(c.Blockers(waits)[0].kind, BlockerKind::kPoolNotAllowed);
  EXPECT_THAT(c.Blockers(waits)[0].message, HasSubstr("team vision may not use pool default"));
}

// The pool that a spec does not name is its team's; a repeated request is the same whatever that is by then.
TEST(ATeamsPools, HaveADefault) {
  Two c;
  ASSERT_TRUE(c.Change({{Vision({}, "a100")}}).status.ok());
  const Reply first = c.Ask(In(""), "r1");
  EXPECT_EQ(c.job(first.jobs.at(0)).spec->pool, "a100");
  ASSERT_TRUE(c.Change({{Vision({})}}).status.ok());
  EXPECT_EQ(c.Ask(In(""), "r1").jobs, first.jobs);
  EXPECT_EQ(c.job(c.Ask(In("")).jobs.at(0)).spec->pool, "default");
}

TEST(AccountRules, AreToldWithTheFieldAndTheWayOut) {
  Two c;
  const auto user = [](auto change) {
    User lee{"lee", {"vision"}};
    change(lee);
    return AccountChange{lee};
  };
  User kim = Kim(false);
  kim.uid = kim.gid = 1000;
  ASSERT_TRUE(c.Change({{kim}}).status.ok());
  struct Row {
    AccountChange change;
    const char* field;
    const char* says;
  };
  const Row kRows[] = {
      {user([](User& u) { u.role = Role::kTeamAdmin; }), "role", "no role of a user"},
      {user([](User& u) { u.admin_of = {"speech"}; }), "admin_of", "user lee is not in team speech"},
      {user([](User& u) { u.uid = u.gid = 1000; }), "uid", "1000 is user kim's"},
      {user([](User& u) { u.uid = u.gid = 65534; }), "gid", "65534 is nobody's"},
      {user([](User& u) {
         u.uid = 65534;
         u.gid = 1001;
       }),
       "uid", "65534 is nobody's"},
      {user([](User& u) {
         u.uid = 4294900000;
         u.gid = 1001;
       }),
       "uid", "4294900000 stands for root in containers"},
      {user([](User& u) { u.uid = u.gid = 4294900000; }), "gid", "4294900000 stands for root in containers"},
      {user([](User& u) {
         u.uid = u.gid = 1001;
         u.groups = {4294900000};
       }),
       "groups", "4294900000 stands for root in containers"},
      {user([](User& u) {
         u.uid = 4294967295;
         u.gid = 1001;
       }),
       "uid", "4294967295 is nobody's"},
      {user([](User& u) { u.uid = 1001; }), "gid", "a uid needs a gid"},
      {user([](User& u) {
         u.uid = u.gid = 1001;
         u.groups = {44, 4294967295};
       }),
       "groups", "4294967295 is nobody's"},
      {user([](User& u) { u.groups.assign(1025, 2000); }), "groups", "1025 are too many"},
      {{Vision({"a100", "a100"})}, "pools", "given twice"},
      {{Vision({"a100"}, "default")}, "default_pool", "may not use pool default"},
  };
  for (const Row& row : kRows) {
    const Status status = c.Change({row.change}).status;
    EXPECT_EQ(status.field(), row.field) << row.says;
    EXPECT_THAT(status.message(), HasSubstr(row.says));
    EXPECT_FALSE(status.fix().empty()) << row.says;
  }
  // In one event a uid may change hands.
  kim.uid = 1001;
  EXPECT_TRUE(c.Change({{kim}, user([](User& u) { u.uid = u.gid = 1000; })}).status.ok());
}

TEST(AccountRules, RootsIdsAreNoUsersOwn) {
  Two c;
  struct Row {
    std::uint32_t uid, gid;
    std::vector<std::uint32_t> groups;
    const char* field;
  };
  const auto lee = [](const Row& row) {
    User user{"lee", {"vision"}};
    user.uid = row.uid;
    user.gid = row.gid;
    user.groups = row.groups;
    return user;
  };
  for (const Row& row : {Row{0, 0, {0, 42, 6}, "uid"}, Row{0, 1001, {}, "uid"}, Row{1001, 0, {}, "gid"},
                         Row{1001, 1001, {42, 0, 6}, "groups"}}) {
    const Status status = c.Change({{lee(row)}}).status;
    EXPECT_EQ(status.field(), row.field);
    EXPECT_EQ(status.message(), "0 is root's, which no task has");
    EXPECT_FALSE(status.fix().empty());
  }
  EXPECT_TRUE(c.Change({{lee({1001, 1001, {42, 6}, ""})}}).status.ok()) << "the system's, which the policy may list";
  // A row of an earlier release: another change of it is not refused for what it had.
  User old = lee({0, 0, {0}, ""});
  Accounts accounts = c.state().accounts();
  accounts.Change({old});
  c.state().SetAccounts(std::move(accounts));
  old.disabled = true;
  EXPECT_TRUE(c.Change({{old}}).status.ok());
  EXPECT_TRUE(c.state().accounts().users.at("lee").disabled);
}

// What is said to mend it does.
TEST(AQuotaThatRefuses, NamesTheCommandsThatLetTheJobIn) {
  const auto row = [](QuotaOf of, const std::string& subject, PriorityClass priority, std::uint32_t nodes,
                      const std::string& pool = kAllPools) {
    return QuotaRow{{of, subject, pool}, priority, nodes};
  };
  struct Row {
    std::vector<QuotaRow> there;
    PriorityClass asked;
    std::vector<QuotaRow> mend;
    const char* says;
  };
  const Row kRows[] = {
      {{row(QuotaOf::kUser, "ann", kNormal, 0)},
       kNormal,
       {row(QuotaOf::kUser, "ann", kNormal, 1)},
       "user:ann normal 1"},
      {{row(QuotaOf::kTeam, "vision", kNormal, 0)},
       kHigh,
       {row(QuotaOf::kTeam, "vision", kNormal, 1), row(QuotaOf::kTeam, "vision", kHigh, 1)},
       "glim admin quota set team:vision normal 1 and glim admin quota set team:vision high 1"},
      {{row(QuotaOf::kEverybody, "", kLow, 0, "default")},
       kLow,
       {row(QuotaOf::kEverybody, "", kLow, 1, "default")},
       "glim admin quota set everybody low 1 --pool default"},
      {{row(QuotaOf::kTeamUser, "vision", kNormal, 4)},
       kHigh,
       {row(QuotaOf::kUser, "ann", kHigh, 1)},
       "glim admin quota set user:ann high 1"},
      {{row(QuotaOf::kDefaultUser, "", kNormal, 0, "default")},
       kNormal,
       {row(QuotaOf::kUser, "ann", kNormal, 1, "default")},
       "glim admin quota set user:ann normal 1 --pool default"},
  };
  for (const Row& one : kRows) {
    Accounts accounts;
    for (const QuotaRow& quota : one.there) accounts.Change({quota});
    JobSpec spec = Spec(1, one.asked);
    const Status refused = CheckQuotaAllows(accounts, "ann", "vision", spec);
    EXPECT_EQ(refused.reason(), "QUOTA_EXCEEDED") << one.says;
    EXPECT_THAT(refused.fix(), HasSubstr(one.says));
    for (const QuotaRow& quota : one.mend) accounts.Change({quota});
    EXPECT_TRUE(CheckQuotaAllows(accounts, "ann", "vision", spec).ok()) << one.says;
  }
}

TEST(AJobsParent, IsKept) {
  Two c;
  SubmitJobs event{"ann", "", "", {Spec(1)}, false};
  event.parent = JobId(7);
  EXPECT_EQ(c.job(c.Do(event).jobs.at(0)).parent, JobId(7));
  c.RestartScheduler();
  EXPECT_EQ(c.job(JobId(1)).parent, JobId(7));
}

TEST(ByRight, AnotherMayCancelSuspendAndResume) {
  Two c;
  const JobId job = c.Running(Spec(1), "ann");
  EXPECT_EQ(c.Do(SuspendJob{job, "op"}).status.reason(), "NOT_YOURS");
  EXPECT_TRUE(c.Do(SuspendJob{job, "op", true}).status.ok());
  EXPECT_TRUE(c.Do(ResumeJob{job, "op", true}).status.ok());
  EXPECT_EQ(c.store().history().back().facts.user, "op");
  const JobId queued = c.Ask(In("a100")).jobs.at(0);
  c.Do(SuspendJob{queued, "op", true});
  EXPECT_TRUE(c.Do(CancelJob{job, "op", true}).status.ok());
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kCancelled);
  EXPECT_EQ(c.job(job).message, "cancelled by op");
}

}  // namespace
}  // namespace glim::core
