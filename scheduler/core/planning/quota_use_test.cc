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

TEST(UserQuota, TheUsersOwnRowIsOverTheTeamsAndThatOverTheDefault) {
  Policy policy;
  policy.default_user_quota = Normal(1);
  policy.team_user_quota["vision"] = Normal(2);
  policy.user_quota["kim"] = Normal(3);
  EXPECT_EQ(UserQuotaOf(policy, "kim", "vision").For(kNormal), 3u);
  EXPECT_EQ(UserQuotaOf(policy, "lee", "vision").For(kNormal), 2u);
  EXPECT_EQ(UserQuotaOf(policy, "lee", "speech").For(kNormal), 1u);
}

TEST(QuotaUse, TheTightestOfUserTeamAndPoolIsNamed) {
  Policy policy = Patient();
  policy.default_user_quota = Normal(8);
  policy.team_quota["team"] = Normal(3);
  policy.pool_quota["default"] = Normal(5);
  Cluster c(Zones{.nodes = 8}, policy);
  const JobId job = c.Running(Spec(2));
  const QuotaUse use(c.state(), c.policy());
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
  EXPECT_TRUE(QuotaUse(c.state(), c.policy()).Borrowed(c.attempt(second).id));
  c.Finish(first);
  EXPECT_FALSE(QuotaUse(c.state(), c.policy()).Borrowed(c.attempt(second).id));
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

}  // namespace
}  // namespace glim::core
