// Users, teams and quotas change by events: all or none, told to the history, kept by the store.
#include "scheduler/core/lifecycle/accounts_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"
#include "scheduler/core/testing/specs.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::Spec;
using testing::Zones;

using enum PriorityClass;

Reply Change(Cluster& c, std::vector<AccountChange> changes) { return c.Do(ChangeAccounts{std::move(changes), "op"}); }

AccountChange Quota(QuotaOf of, const std::string& subject, PriorityClass priority, std::uint32_t nodes,
                    const std::string& pool = kAllPools) {
  return {QuotaRow{{of, subject, pool}, priority, nodes}};
}

TEST(Accounts, AreKeptAndToldToTheHistory) {
  Cluster c;
  ASSERT_TRUE(Change(c, {{Team{"vision", 200}}, {User{"kim", {"vision"}}}, Quota(QuotaOf::kTeam, "vision", kHigh, 4)})
                  .status.ok());
  EXPECT_EQ(c.state().accounts().users.at("kim").teams, std::vector<std::string>{"vision"});
  EXPECT_EQ(c.state().accounts().WeightOf("vision"), 200u);
  ASSERT_TRUE(Change(c, {Quota(QuotaOf::kTeam, "vision", kHigh, 6)}).status.ok());
  const auto& history = c.store().history();
  EXPECT_EQ(history.back().kind, HistoryKind::kQuotaChanged);
  EXPECT_EQ(history.back().text, "quota of team vision at high: 6, was 4, by op");
  c.RestartScheduler();
  EXPECT_EQ(c.state().accounts().quotas.at({QuotaOf::kTeam, "vision"}).at(kHigh), 6u);
}

TEST(Accounts, WhatChangesNothingIsNoChange) {
  Cluster c;
  ASSERT_TRUE(Change(c, {{Team{"vision", 200}}}).status.ok());
  const std::size_t told = c.store().history().size();
  EXPECT_TRUE(Change(c, {{Team{"vision", 200}}}).status.ok());
  EXPECT_EQ(c.store().history().size(), told);
}

TEST(Accounts, AreChangedAllOrNone) {
  Cluster c;
  const Reply reply = Change(c, {{Team{"vision"}}, {User{"kim", {"speech"}}}});
  EXPECT_EQ(reply.status.code(), StatusCode::kNotFound);
  EXPECT_TRUE(c.state().accounts().teams.empty());
}

TEST(Accounts, WhatIsRefusedNamesTheFieldAndTheWayOut) {
  Cluster c;
  ASSERT_TRUE(Change(c, {{Team{"vision"}}, {User{"kim", {"vision"}}}}).status.ok());
  struct Row {
    AccountChange change;
    const char* field;
    const char* says;
    const char* fix;
  };
  const Row kRows[] = {
      {{User{"a b", {}}}, "user", "no name", "A-Z"},
      {{User{"lee", {"vision", "vision"}}}, "teams", "vision is given twice", "keep one"},
      {{User{"lee", {"visoin"}}}, "teams", "no team visoin", "glim admin team add visoin"},
      {{User{"lee", {}}, true}, "user", "no user lee", "glim admin user list"},
      {{Team{"vision", 0}}, "weight", "0 is out of range", "use 1 to 1000000"},
      {{Team{"vision"}, true}, "team", "users are in team vision: kim", "glim admin user set"},
      {{Team{"speech"}, true}, "team", "no team speech", "glim admin team list"},
      {Quota(QuotaOf::kUser, "", kHigh, 1), "subject", "is missing", "A-Z"},
      {Quota(QuotaOf::kTeam, "speech", kHigh, 1), "subject", "no team speech", "glim admin team add speech"},
      {Quota(QuotaOf::kEverybody, "kim", kHigh, 1), "subject", "everybody has no name", "leave 'kim' out"},
      {Quota(QuotaOf::kUser, "kim", kAuto, 1), "class", "no quota of its own", "name a class"},
      {Quota(QuotaOf::kUser, "kim", kHigh, 10'000'001), "nodes", "10000001 is out of range", "use 0 to 10000000"},
      {Quota(QuotaOf::kUser, "kim", kHigh, 1, "a/b"), "pool", "no name", "A-Z"},
      {{QuotaRow{{QuotaOf::kUser, "kim"}, kHigh, 0}, true}, "quota", "no quota of user kim at high", "quota list"},
  };
  const Accounts before = c.state().accounts();
  for (const Row& row : kRows) {
    const Status status = Change(c, {row.change}).status;
    EXPECT_EQ(status.field(), row.field) << row.says;
    EXPECT_THAT(status.message(), HasSubstr(row.says));
    EXPECT_THAT(status.fix(), HasSubstr(row.fix)) << row.says;
    EXPECT_EQ(c.state().accounts(), before);
  }
}

TEST(Accounts, ATeamWithAQuotaStays) {
  Cluster c;
  ASSERT_TRUE(Change(c, {{Team{"vision"}}, Quota(QuotaOf::kTeamUser, "vision", kHigh, 2, "a100")}).status.ok());
  EXPECT_EQ(Change(c, {{Team{"vision"}, true}}).status.fix(),
            "glim admin quota remove team-user:vision high --pool a100");
}

TEST(Accounts, ATeamWithAReservationStays) {
  Cluster c;
  ASSERT_TRUE(Change(c, {{Team{"vision"}}}).status.ok());
  Reservation row;
  row.name = "release";
  row.team = "vision";
  row.node_names = {"n1"};
  row.ends_at = c.now() + Hours(1);
  row.reason = "a deadline";
  ASSERT_TRUE(c.Do(SetReservation{row, "op"}).status.ok());
  const Status status = Change(c, {{Team{"vision"}, true}}).status;
  EXPECT_EQ(status.reason(), "IN_USE");
  EXPECT_THAT(status.message(), HasSubstr("reserved for team vision: release"));
  EXPECT_EQ(status.fix(), "glim admin reserve rm release");
}

// Whoever is left could change nobody's rights any more.
TEST(Accounts, TheLastAdministratorStaysOne) {
  Cluster c;
  const User root{"root", {}, Role::kAdmin};
  ASSERT_TRUE(Change(c, {{User{"kim"}}, {User{"kim"}, true}}).status.ok()) << "where there is none, none has to stay";
  ASSERT_TRUE(Change(c, {{root}, {User{"kim"}}}).status.ok());
  User off = root, user = root;
  off.disabled = true;
  user.role = Role::kUser;
  for (const AccountChange& change : {AccountChange{root, true}, AccountChange{off}, AccountChange{user}}) {
    for (const bool dry_run : {true, false}) {
      const Status status = c.Do(ChangeAccounts{{change}, "op", dry_run}).status;
      EXPECT_EQ(status.reason(), "LAST_ADMIN");
      EXPECT_EQ(status.field(), "role");
      EXPECT_EQ(status.fix(), "make another first: glim admin user set NAME --role admin");
    }
  }
  EXPECT_EQ(c.state().accounts().users.at("root"), root);
  EXPECT_TRUE(Change(c, {{User{"kim", {}, Role::kAdmin}}, {root, true}}).status.ok()) << "one comes as the other goes";
}

// A job counts for its user's first team unless it names another of theirs.
TEST(Teams, AJobIsOfATeamOfItsUser) {
  Cluster c(Zones{.nodes = 4});
  ASSERT_TRUE(Change(c, {{Team{"vision"}}, {Team{"speech"}}, {User{"kim", {"vision", "speech"}}}}).status.ok());
  JobSpec spec = Spec(1);
  const auto team_of = [&](const std::string& user) {
    const Reply reply = c.Do(SubmitJobs{user, "", "", {spec}, false});
    return reply.jobs.empty() ? reply.status.message() + "; " + reply.status.fix() : c.job(reply.jobs[0]).team;
  };
  EXPECT_EQ(team_of("kim"), "vision");
  EXPECT_EQ(team_of("lee"), "");
  spec.team = "speech";
  EXPECT_EQ(team_of("kim"), "speech");
  EXPECT_THAT(team_of("lee"), HasSubstr("user lee is not in team 'speech'"));
  spec.team = "robots";
  EXPECT_THAT(team_of("kim"), HasSubstr("use one of vision, speech"));
}

// All members together: what one of them has is not there for another.
TEST(Teams, ATeamsQuotaIsOfAllItsMembers) {
  Cluster c(Zones{.nodes = 4});
  ASSERT_TRUE(Change(c, {{Team{"vision"}},
                         {User{"kim", {"vision"}}},
                         {User{"lee", {"vision"}}},
                         Quota(QuotaOf::kTeam, "vision", kHigh, 2)})
                  .status.ok());
  const Reply kims = c.Do(SubmitJobs{"kim", "", "", {Spec(2, kHigh)}, false});
  const Reply lees = c.Do(SubmitJobs{"lee", "", "", {Spec(1, kHigh)}, false});
  EXPECT_FALSE(c.attempt(kims.jobs.at(0)).borrowed);
  EXPECT_TRUE(c.attempt(lees.jobs.at(0)).borrowed);
}

TEST(AccountCommands, SayWhatAnOperatorTypes) {
  EXPECT_EQ(CommandFor(Quota(QuotaOf::kUser, "kim", kHigh, 4, "a100")),
            "glim admin quota set user:kim high 4 --pool a100");
  EXPECT_EQ(CommandFor({QuotaRow{{QuotaOf::kDefaultUser, ""}, kNormal, 8}, true}),
            "glim admin quota remove default-user normal");
  EXPECT_EQ(CommandFor({User{"kim", {"vision", "speech"}}}), "glim admin user set kim --team vision,speech");
  EXPECT_EQ(CommandFor({Team{"vision", 50}}), "glim admin team set vision --weight 50");
}

}  // namespace
}  // namespace glim::core
