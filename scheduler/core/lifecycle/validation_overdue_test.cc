// Nodes that were found good too long ago are measured in idle time, a few at a time; and as whom.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/lifecycle/validation.h"
#include "scheduler/core/model/node_users.h"
#include "scheduler/core/testing/validations.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Measured;
using testing::MeasuredNow;
using testing::MeasuringOf;
using testing::Spec;
using testing::Validating;
using testing::ValidationOf;
using testing::Zones;

const NodeId kOverdue{1}, kClosedNode{2};
constexpr Duration kEvery = Hours(24) * 7;

struct AnOverdueNode : ::testing::Test {
  Cluster c{Zones{.nodes = 1}, Validating({.every = kEvery})};
};

TEST_F(AnOverdueNode, IsMeasuredInIdleTime) {
  c.Do(TimePassed{});
  EXPECT_EQ(ValidationOf(c, kOverdue).need, ValidationNeed::kOverdue);
  Measured(c, kOverdue, 0);
  EXPECT_EQ(ValidationOf(c, kOverdue).need, ValidationNeed::kNone);
  c.Advance(kEvery - Milliseconds(1));
  EXPECT_FALSE(MeasuringOf(c, kOverdue));
  c.Advance(Milliseconds(1));
  EXPECT_TRUE(MeasuringOf(c, kOverdue));
}

TEST_F(AnOverdueNode, GoesOnTakingJobsAndIsMeasuredBehindThem) {
  const JobId first = c.Running(Spec(1));
  const JobId second = c.Submit(Spec(1), "bob");
  ASSERT_EQ(ValidationOf(c, kOverdue).need, ValidationNeed::kOverdue);
  c.Finish(first);
  EXPECT_EQ(c.job(second).state, JobState::kRunning);
  EXPECT_FALSE(MeasuringOf(c, kOverdue));
  c.Finish(second);
  EXPECT_TRUE(MeasuringOf(c, kOverdue)) << "nobody waits";
}

TEST_F(AnOverdueNode, IsGivenAtOnceToWhoeverComesOfTheLowestClassToo) {
  c.Do(TimePassed{});
  c.Settle();
  ASSERT_TRUE(MeasuringOf(c, kOverdue));
  const JobId job = c.Submit(Spec(1, PriorityClass::kLow));
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(ValidationOf(c, kOverdue).again_at, c.now() + kMeasureAgainInterrupted);
}

TEST_F(AnOverdueNode, IsNoneWhereThePolicyDoesNotAsk) {
  const JobId job = c.Running(Spec(1));
  ASSERT_EQ(ValidationOf(c, kOverdue).need, ValidationNeed::kOverdue);
  c.policy().health.validate.every = {};
  c.Do(PolicyChanged{"health.validate.every: 0s"});
  EXPECT_EQ(ValidationOf(c, kOverdue), NodeValidation());
  c.Finish(job);
  EXPECT_FALSE(MeasuringOf(c, kOverdue));
}

TEST_F(AnOverdueNode, IsNotMeasuredWhileItIsReservedForNobody) {
  c.policy().health.validate.every = {};
  SetReservation event;
  event.reservation.name = "fans";
  event.reservation.node_names = {"n1"};
  event.reservation.reason = "new fans";
  event.reservation.ends_at = c.now() + Hours(1);
  ASSERT_TRUE(c.Do(event).status.ok());
  c.policy().health.validate.every = kEvery;
  c.Do(TimePassed{});
  ASSERT_EQ(ValidationOf(c, kOverdue).need, ValidationNeed::kOverdue);
  EXPECT_FALSE(MeasuringOf(c, kOverdue));
  c.Advance(Hours(1));
  EXPECT_TRUE(MeasuringOf(c, kOverdue));
}

TEST(OverdueNodes, AreMeasuredAFewAtATime) {
  Cluster c(Zones{.nodes = 5}, Validating({}));
  c.policy().health.validate.every = kEvery;
  c.Do(TimePassed{});
  EXPECT_EQ(MeasuredNow(c), 2u);
  EXPECT_EQ(MeasuredAtOnce(1000, false), 10u);
  Measured(c, kOverdue, 0);
  EXPECT_EQ(MeasuredNow(c), 2u);
}

TEST(OverdueNodes, AreMeasuredWhateverTheQuotas) {
  Cluster c(Zones{.nodes = 1}, Validating({}));
  c.SetQuota(kClusterUser, PriorityClass::kLow, 0);
  c.policy().health.validate.every = kEvery;
  c.Do(TimePassed{});
  c.Settle();
  EXPECT_EQ(c.job(MeasuringOf(c, kOverdue)).state, JobState::kRunning);
}

TEST(OverdueNodes, AreMeasuredWholeWhereThePolicySaysSo) {
  Cluster c(Zones{.nodes = 1}, Validating({.every = kEvery, .full = true}));
  c.Do(TimePassed{});
  EXPECT_EQ(c.job(MeasuringOf(c, kOverdue)).spec->run, "exec glim-validate --full --json");
}

// --- whose rights the job has

TEST(TheClustersUser, IsWhoeverTheNodeRuns) {
  Cluster c(Zones{.nodes = 4}, Validating({}));
  c.SetRule(kOverdue, {1000, false});
  c.SetRule(kClosedNode, {std::nullopt, true});
  const auto on = [&](NodeId id) { return ClusterUserOn(c.state().accounts(), c.policy(), c.node(id)); };
  EXPECT_EQ(on(kOverdue)->uid, 1000u) << "its agent is that user, and runs as nobody else";
  EXPECT_EQ(on(kClosedNode)->uid, kClusterUid) << "an id that owns nothing";
  EXPECT_FALSE(on(NodeId(3))) << "the node says as whom it runs jobs of users without a uid";
  User glim{kClusterUser};
  glim.uid = glim.gid = 2000;
  c.SetUser(glim);
  EXPECT_EQ(on(kOverdue)->uid, 1000u);
  EXPECT_EQ(on(kClosedNode)->uid, 2000u);
  EXPECT_EQ(on(NodeId(3))->uid, 2000u);
  glim.uid = 33;  // the system's, which no task has
  c.SetUser(glim);
  EXPECT_EQ(on(kClosedNode)->uid, kClusterUid);
}

TEST(TheClustersUser, IsTheAttempts) {
  Cluster c(Zones{.nodes = 1}, Validating({}));
  c.SetRule(kOverdue, {std::nullopt, true});
  c.policy().health.validate.every = kEvery;
  c.Do(TimePassed{});
  EXPECT_EQ(c.attempt(MeasuringOf(c, kOverdue)).task_user, (TaskUser{kClusterUid, kClusterUid}));
}

}  // namespace
}  // namespace glim::core
