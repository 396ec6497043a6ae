// Which nodes run jobs of which users, and how a submission is refused that no node would ever run.
#include "scheduler/core/model/node_users.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/model/feasibility.h"
#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::Labels;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

User Named(const std::string& name, std::uint32_t uid) {
  User user{name};
  user.uid = user.gid = uid;
  return user;
}

TEST(Takes, AnAgentsOwnUserAloneOrWhoeverHasAUid) {
  const UserRule everybody, own{1000, false}, own_with_users{1000, true}, with_uid{std::nullopt, true};
  for (const auto& uid : {std::optional<std::uint32_t>(), std::optional(1000u), std::optional(1001u)}) {
    EXPECT_TRUE(Takes(everybody, uid));
    EXPECT_EQ(Takes(own, uid), uid == 1000u);
    EXPECT_EQ(Takes(own_with_users, uid), uid == 1000u);
    EXPECT_EQ(Takes(with_uid, uid), uid.has_value());
  }
}

// n1 and n2 run jobs of uid 1000 (kim) alone, n3 none of a user without a uid, n4 everybody's.
struct Four : Cluster {
  Four() : Cluster(Zones{.nodes = 4}) {
    SetUser(Named("kim", 1000));
    SetUser(Named("bob", 1001));
    SetUser(User{"lee"});
    SetRule(NodeId(1), {1000, false});
    SetRule(NodeId(2), {1000, false});
    SetRule(NodeId(3), {std::nullopt, true});
  }
  Status Check(std::uint32_t nodes, const std::string& user) {
    return CheckFeasible(state(), policy(), Spec(nodes), user);
  }
};

TEST(RulesThatTake, LookNobodyUpWhereEverybodyMayRunEverywhere) {
  Cluster c(Zones{.nodes = 2});
  c.SetUser(Named("kim", 1000));
  const PoolLayout& pool = c.state().layouts().pools.at("default");
  EXPECT_EQ(pool.user_rules.size(), 1u);
  EXPECT_EQ(pool.kinds.size(), 1u);
  EXPECT_TRUE(RulesThatTake(pool, c.state().accounts(), "kim").empty());
}

TEST(RulesThatTake, AreEmptyForWhomAllNodesAreOpen) {
  Four c;
  const PoolLayout& pool = c.state().layouts().pools.at("default");
  EXPECT_EQ(pool.user_rules.size(), 3u);
  EXPECT_EQ(pool.kinds.size(), 3u);
  EXPECT_TRUE(RulesThatTake(pool, c.state().accounts(), "kim").empty());
  EXPECT_EQ(RulesThatTake(pool, c.state().accounts(), "bob"), (std::vector{false, true, true}));
  EXPECT_EQ(RulesThatTake(pool, c.state().accounts(), "lee"), (std::vector{false, false, true}));
  EXPECT_EQ(RulesThatTake(pool, c.state().accounts(), "not registered"), (std::vector{false, false, true}));
}

TEST(ASubmission, IsRefusedWhereNoNodesWouldEverRunTheUsersJob) {
  Four c;
  EXPECT_TRUE(c.Check(4, "kim").ok());
  EXPECT_TRUE(c.Check(2, "bob").ok());
  const Status bob = c.Check(3, "bob");
  EXPECT_EQ(bob.reason(), "INFEASIBLE");
  EXPECT_EQ(bob.field(), "user");
  EXPECT_EQ(bob.message(),
            "user: 2 nodes run only jobs of uid 1000 (kim); user bob has uid 1001: 2 of pool default are left, 3 "
            "needed");
  EXPECT_THAT(bob.fix(), HasSubstr("use a pool"));
  const Status lee = c.Check(2, "lee");
  EXPECT_EQ(lee.message(),
            "user: 2 nodes run only jobs of uid 1000 (kim), 1 node runs no job of a user without a uid; user lee has "
            "no uid in the registry: 1 of pool default are left, 2 needed");
  EXPECT_EQ(lee.fix(), "an operator gives one: glim admin user set lee --uid N --gid N");
  EXPECT_EQ(c.Check(2, "new").fix(), "an operator gives one: glim admin user add new --uid N --gid N");
}

TEST(ASubmission, IsToldOfTheLabelsFirst) {
  Four c;
  EXPECT_EQ(CheckFeasible(c.state(), c.policy(), SpecWith(1, [](JobSpec& s) { s.placement.gpu_type = "h100"; }), "lee")
                .field(),
            "placement");
}

// z1 has eight nodes, four of them kim's alone, and z2 four: no zone has six for bob.
TEST(Placement, AJobCrossesWhereNoZoneHasEnoughNodesOfItsUsers) {
  Cluster c(Zones{.zones = 2, .leaves = 1, .nodes = 4});
  for (int i = 0; i < 4; ++i) c.AddNode(Labels("z1", "z1-l1"));
  c.SetUser(Named("kim", 1000));
  c.SetUser(Named("bob", 1001));
  for (std::uint32_t node = 1; node <= 4; ++node) c.SetRule(NodeId(node), {1000, false});
  const auto check = [&](const std::string& user) { return CheckFeasible(c.state(), c.policy(), Spec(6), user); };
  EXPECT_TRUE(check("bob").ok()) << check("bob").message();
  EXPECT_EQ(c.attempt(c.Submit(Spec(6), "bob")).zones.size(), 2u);
  EXPECT_EQ(c.Blockers(c.Submit(Spec(6), "kim")).at(0).kind, BlockerKind::kNodesBusy) << "z1 has eight for kim";
}

TEST(Placement, AJobIsOnNodesAloneThatRunItsUser) {
  Four c;
  EXPECT_EQ(c.attempt(c.Submit(Spec(2), "bob")).nodes, (std::vector{NodeId(3), NodeId(4)}));
  EXPECT_EQ(c.attempt(c.Submit(Spec(2), "kim")).nodes, (std::vector{NodeId(1), NodeId(2)}));
}

TEST(Placement, NobodyIsInterruptedOnANodeThatTheJobMayNotHave) {
  Four c;
  const JobId kims = c.Running(Spec(2), "kim");
  const JobId lees = c.Running(Spec(1), "lee");
  c.Advance(Minutes(30));
  const JobId urgent = c.Submit(SpecWith(1, [](JobSpec& s) { s.priority = PriorityClass::kHigh; }), "new");
  EXPECT_EQ(c.attempt(urgent).nodes, c.attempt(lees).nodes);
  EXPECT_FALSE(c.attempt(kims).open_agreement());
}

TEST(ANodesRule, IsWhatItsAgentSaysNow) {
  Four c;
  const JobId waits = c.Submit(Spec(2), "bob");
  ASSERT_EQ(c.job(waits).state, JobState::kStarting);
  EXPECT_FALSE(c.Check(3, "bob").ok());
  c.SetRule(NodeId(1), {});
  EXPECT_TRUE(c.Check(3, "bob").ok());
}

}  // namespace
}  // namespace glim::core
