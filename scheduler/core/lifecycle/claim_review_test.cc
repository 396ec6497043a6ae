// Whose claims are given up, and whose attempts keep their user, when the registry, the policy or an agent changes.
#include "scheduler/core/lifecycle/claim_review.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::Spec;
using testing::Zones;

using enum PriorityClass;

User KimWith(std::optional<std::uint32_t> uid, std::vector<std::uint32_t> groups = {}) {
  User kim{"kim"};
  kim.uid = kim.gid = uid;
  kim.groups = std::move(groups);
  return kim;
}

// n1 and n2, on which ann runs; kim has uid 1000 and waits for them.
struct Waiting : Cluster {
  Waiting() : Cluster(Zones{.nodes = 2}) {
    SetUser(KimWith(1000));
    victim = Running(Spec(2), "ann");
    claims = Submit(Spec(2, kHigh), "kim");
    EXPECT_EQ(attempt(claims).state, AttemptState::kClaimed);
  }
  void ExpectGivenUp() {
    EXPECT_EQ(job(claims).state, JobState::kQueued);
    EXPECT_FALSE(attempt(victim).open_agreement()) << "whoever was to leave stays";
    ASSERT_EQ(Blockers(claims).size(), 1u);
    EXPECT_EQ(Blockers(claims)[0].kind, BlockerKind::kUser);
  }
  JobId victim, claims;
};

TEST(ReviewClaims, AUidThatIsTheSystemsNowGivesThemUp) {
  Waiting c;
  c.SetUser(KimWith(33));
  c.ExpectGivenUp();
  EXPECT_THAT(c.Blockers(c.claims)[0].message, HasSubstr("uid 33 of user kim is the system's"));
  EXPECT_THAT(c.Blockers(c.claims)[0].message, HasSubstr("task_users.allow_uids"));
  c.SetUser(KimWith(1000));
  EXPECT_EQ(c.job(c.claims).state, JobState::kStarting) << "it waits, and is not failed";
}

TEST(ReviewClaims, APolicyThatListsTheUidNoMoreGivesThemUp) {
  Waiting c;
  c.policy().task_users = {{33}, {33}};
  c.Do(PolicyChanged{"read again"});
  c.SetUser(KimWith(33));
  ASSERT_EQ(c.attempt(c.claims).state, AttemptState::kClaimed);
  c.policy().task_users = {};
  c.Do(PolicyChanged{"read again"});
  c.ExpectGivenUp();
  c.policy().task_users = {{33}, {33}};
  c.Do(PolicyChanged{"read again"});
  EXPECT_EQ(c.job(c.claims).state, JobState::kStarting);
}

TEST(ReviewClaims, ASchedulerThatBeginsWithAnotherPolicyGivesThemUp) {
  Waiting c;
  c.policy().task_users = {{33}, {33}};
  c.Do(PolicyChanged{"read again"});
  c.SetUser(KimWith(33));
  c.policy().task_users = {};
  c.RestartScheduler();
  EXPECT_EQ(c.job(c.claims).state, JobState::kQueued);
}

TEST(ReviewClaims, AnAgentThatBeginsAnewAsSomebodyElseGivesThemUp) {
  Waiting c;
  c.SetRule(NodeId(2), {1001, false});
  c.ExpectGivenUp();
  EXPECT_EQ(c.job(c.victim).state, JobState::kRunning) << "what runs there runs on";
  EXPECT_THAT(c.Blockers(c.claims)[0].message, HasSubstr("1 node runs only jobs of uid 1001; user kim has uid 1000"));
}

TEST(ReviewClaims, ANodeThatNeedsAUidGivesUpTheClaimsOfWhoHasNone) {
  Waiting c;
  c.SetRule(NodeId(2), {std::nullopt, true});
  EXPECT_EQ(c.attempt(c.claims).state, AttemptState::kClaimed) << "kim has one";
  c.SetUser(KimWith(std::nullopt));
  c.ExpectGivenUp();
  EXPECT_THAT(c.Blockers(c.claims)[0].message,
              HasSubstr("an operator gives one: glim admin user set kim --uid N --gid N"));
}

TEST(AnAttemptsUser, IsTheRegistrysAtItsStartAndNoOtherAfterwards) {
  Cluster c(Zones{.nodes = 1});
  c.SetUser(KimWith(1000, {2000}));
  const JobId job = c.Running(Spec(1), "kim");
  EXPECT_EQ(c.attempt(job).task_user, (TaskUser{1000, 1000, {2000}}));
  c.SetUser(KimWith(1001));
  EXPECT_EQ(c.attempt(job).task_user, (TaskUser{1000, 1000, {2000}})) << "a uid is changed while it runs";
  c.RestartScheduler();
  EXPECT_EQ(c.attempt(job).task_user, (TaskUser{1000, 1000, {2000}})) << "the scheduler begins anew";
  c.Return(NodeId(1));
  c.Suspend(job, "kim");
  c.Settle();
  c.Resume(job, "kim");
  c.Settle();
  ASSERT_EQ(c.attempt(job).id.number, 2u);
  EXPECT_EQ(c.attempt(job).task_user, (TaskUser{1001, 1001, {}})) << "the next attempt";
}

TEST(AnAttemptsUser, IsNobodyWhoHasNoUid) {
  Cluster c(Zones{.nodes = 1});
  EXPECT_EQ(c.attempt(c.Running(Spec(1), "lee")).task_user, std::nullopt);
}

// It was claimed before, and the registry counts when it begins.
TEST(AnAttemptsUser, IsTakenWhenAllNodesAreHeld) {
  Waiting c;
  c.SetUser(KimWith(1002));
  EXPECT_EQ(c.attempt(c.claims).task_user, std::nullopt);
  c.Settle();
  ASSERT_EQ(c.attempt(c.claims).state, AttemptState::kRunning);
  EXPECT_EQ(c.attempt(c.claims).task_user, (TaskUser{1002, 1002, {}}));
}

TEST(ASubmission, OfAUserWhoseIdsAreTheSystemsIsRefused) {
  Cluster c(Zones{.nodes = 1});
  c.SetUser(KimWith(1000, {27}));
  const Status refused = c.Do(SubmitJobs{"kim", "", "", {Spec(1)}, false}).status;
  EXPECT_EQ(refused.reason(), "UID_NOT_ALLOWED");
  EXPECT_EQ(refused.field(), "groups");
  EXPECT_THAT(refused.message(), HasSubstr("group 27 of user kim is the system's"));
  EXPECT_THAT(refused.fix(), HasSubstr("task_users.allow_gids"));
  c.policy().task_users.allow_gids = {27};
  EXPECT_TRUE(c.Do(SubmitJobs{"kim", "", "", {Spec(1)}, false}).status.ok());
}

TEST(ExposedSockets, AreKeptUntilTheAgentSaysOtherwise) {
  Cluster c(Zones{.nodes = 1});
  const NodeId node(1);
  NodeReported report{node, c.session(node), true, {}};
  report.exposed_sockets = {{"@/run/x"}};
  c.Do(report);
  EXPECT_EQ(c.node(node).exposed_sockets, (std::vector<std::string>{"@/run/x"}));
  EXPECT_GT(c.last_drive().mutations, 0u);
  c.Do(report);
  EXPECT_EQ(c.last_drive().mutations, 0u) << "told again: nothing is stored";
  report.exposed_sockets.reset();
  c.Do(report);
  EXPECT_EQ(c.node(node).exposed_sockets.size(), 1u) << "a report that does not look";
  report.exposed_sockets.emplace();
  c.Do(report);
  EXPECT_TRUE(c.node(node).exposed_sockets.empty());
}

}  // namespace
}  // namespace glim::core
