// Nodes are measured by themselves: when they join, after a repair and under suspicion; and what becomes of a node by
// what its job found. validation_overdue_test.cc has those that are overdue.
#include "scheduler/core/lifecycle/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "scheduler/core/lifecycle/suspicion.h"
#include "scheduler/core/lifecycle/validation_job.h"
#include "scheduler/core/lifecycle/validation_need.h"
#include "scheduler/core/model/node_users.h"
#include "scheduler/core/testing/health_reports.h"
#include "scheduler/core/testing/validations.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Measured;
using testing::MeasuredNow;
using testing::MeasuringOf;
using testing::Spec;
using testing::Tell;
using testing::Told;
using testing::Validating;
using testing::ValidationOf;
using testing::Zones;

const NodeId kNewNode{1}, kSpareNode{2};
constexpr Duration kWeek = Hours(24) * 7;

void SuspectIt(Cluster& c, NodeId id) {
  Changes changes(c.state(), c.policy(), c.now());
  Suspect(changes, id, "job 5 stood still there");
  ToBeMeasured(changes, id, ValidationNeed::kSuspicion, "job 5 stood still there");
  c.Commit(changes.Take());
  c.Do(TimePassed{});
}

// --- a node joins

struct ANodeThatJoins : ::testing::Test {
  Cluster c{Zones{.nodes = 1}, Validating({.on_join = true})};
};

TEST_F(ANodeThatJoins, TakesNoJobBeforeItWasFoundGood) {
  const JobId job = c.Submit(Spec(1, PriorityClass::kExtremeHigh));
  ASSERT_EQ(c.job(job).state, JobState::kQueued);
  ASSERT_EQ(c.Blockers(job).size(), 1u);
  EXPECT_EQ(c.Blockers(job)[0].kind, BlockerKind::kNodesOut);
  EXPECT_EQ(c.Blockers(job)[0].message,
            "0 of 1 node that fits takes jobs, 1 needed; 1 waiting to be measured; node n1 waits to be measured: it "
            "joins, and job 1 measures it");
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kQueued) << "not while it is measured either";
  Measured(c, kNewNode, 0);
  EXPECT_EQ(c.job(JobId(1)).state, JobState::kSucceeded);
  NodeValidation good;
  good.good_at = c.now();
  good.last = JobId(1);
  EXPECT_EQ(ValidationOf(c, kNewNode), good);
  EXPECT_EQ(c.Noted(HistoryKind::kNodeToValidate), 1);
  EXPECT_EQ(c.Noted(HistoryKind::kNodeValidated), 1);
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
}

TEST_F(ANodeThatJoins, IsMeasuredByAJobOfTheClustersOwn) {
  const Job& job = c.job(MeasuringOf(c, kNewNode));
  EXPECT_EQ(job.validates, kNewNode);
  EXPECT_EQ(job.user, kClusterUser);
  EXPECT_EQ(job.team, "");
  EXPECT_EQ(job.priority, PriorityClass::kLow);
  EXPECT_EQ(job.spec->name, "validate-n1");
  EXPECT_EQ(job.spec->placement.node, "n1");
  EXPECT_EQ(job.spec->run, "exec glim-validate --quick --json");
  EXPECT_EQ(job.spec->gpus_per_node, 8u) << "all that it has: GPUs that the job does not hold are not tested";
  EXPECT_EQ(job.spec->grace, Duration{});
  EXPECT_EQ(c.attempt(job.id).nodes, std::vector{kNewNode});
}

TEST_F(ANodeThatJoins, IsComparedWithTheFirstBaselineThatIsOfItsKind) {
  const Node& node = c.node(kNewNode);
  ValidatePolicy policy{.full = true,
                        .baselines = {{.gpu_type = "other-card", .expected = {{"cpu.piece", 1}}},
                                      {.pool = node.labels.pool,
                                       .gpu_type = node.labels.gpu_type,
                                       .expected = {{"disk.write", 880.25}, {"cpu.piece", 41.66636900}}},
                                      {.expected = {{"cpu.piece", 2}}}}};
  EXPECT_EQ(SpecThatMeasures(node, policy, false).run,
            "exec glim-validate --full --json --expect cpu.piece=41.6664,disk.write=880.25");
  policy.baselines.erase(policy.baselines.begin() + 1);
  EXPECT_EQ(SpecThatMeasures(node, policy, false).run, "exec glim-validate --full --json --expect cpu.piece=2");
  policy.baselines.pop_back();
  EXPECT_EQ(SpecThatMeasures(node, policy, false).run, "exec glim-validate --full --json") << "compared with itself";
}

TEST_F(ANodeThatJoins, IsCordonedByHealthWhenItIsBad) {
  const JobId job = c.Submit(Spec(1));
  Measured(c, kNewNode, 3, "cpu piece cpu3: 0.41 of the others");
  const Node& node = c.node(kNewNode);
  ASSERT_TRUE(node.cordon);
  EXPECT_EQ(node.cordon->by, "health");
  EXPECT_EQ(node.cordon->reason,
            "glim-validate, job 1: cpu piece cpu3: 0.41 of the others; repair it, then: glim admin node uncordon n1");
  EXPECT_EQ(node.validation.bad, "cpu piece cpu3: 0.41 of the others");
  EXPECT_EQ(c.job(JobId(1)).state, JobState::kFailed);
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
  EXPECT_EQ(MeasuredNow(c), 0u) << "nobody measures what is taken out";
}

TEST_F(ANodeThatJoins, IsMeasuredAgainWhenItIsGivenBack) {
  const JobId job = c.Submit(Spec(1));
  Measured(c, kNewNode, 3, "a slow core");
  c.Do(UncordonNode{"n1", "ann"});
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
  Measured(c, kNewNode, 0);
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(ValidationOf(c, kNewNode).bad, "");
}

TEST_F(ANodeThatJoins, SaysWhereToLookWhenTheProgramsWordsAreNotKnown) {
  Measured(c, kNewNode, 3);
  EXPECT_THAT(c.node(kNewNode).cordon->reason, HasSubstr("glim logs 1 says what"));
}

TEST_F(ANodeThatJoins, IsTriedAgainMinutesLaterWhenItCouldNotBeMeasured) {
  Measured(c, kNewNode, 127);
  EXPECT_FALSE(c.node(kNewNode).cordon);
  EXPECT_FALSE(MeasuringOf(c, kNewNode));
  EXPECT_EQ(ValidationOf(c, kNewNode).again_at, c.now() + kMeasureAgainWaiting);
  EXPECT_EQ(c.Noted(HistoryKind::kNodeToValidate), 2) << "it is said";
  c.Advance(kMeasureAgainWaiting - Milliseconds(1));
  EXPECT_FALSE(MeasuringOf(c, kNewNode));
  const JobId job = c.Submit(Spec(1));
  EXPECT_EQ(c.job(job).state, JobState::kQueued) << "it was not found good";
  c.Advance(Milliseconds(1));
  Measured(c, kNewNode, 0);
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
}

TEST_F(ANodeThatJoins, IsTriedAgainWhenItsJobIsCancelled) {
  c.Settle();
  ASSERT_TRUE(c.Cancel(JobId(1), kClusterUser).status.ok());
  c.Settle();
  EXPECT_EQ(c.job(JobId(1)).state, JobState::kCancelled);
  c.Advance(kMeasureAgainWaiting);
  Measured(c, kNewNode, 0);
  EXPECT_EQ(ValidationOf(c, kNewNode).need, ValidationNeed::kNone);
}

TEST_F(ANodeThatJoins, IsSuspendedForGoodByNobody) {
  c.Settle();
  ASSERT_TRUE(c.Suspend(JobId(1), kClusterUser).status.ok());
  c.Settle();
  EXPECT_EQ(c.job(JobId(1)).state, JobState::kCancelled) << "another takes its place";
  c.Advance(kMeasureAgainWaiting);
  EXPECT_TRUE(MeasuringOf(c, kNewNode));
}

TEST_F(ANodeThatJoins, IsNotMeasuredWhileItIsLost) {
  c.policy().node_lost_after = Minutes(1);
  c.Settle();
  c.Silence(kNewNode, true);
  c.Advance(c.policy().node_lost_after + kMeasureAgainWaiting);
  ASSERT_EQ(c.node(kNewNode).state, NodeState::kLost);
  EXPECT_EQ(c.job(JobId(1)).state, JobState::kFailed);
  EXPECT_FALSE(MeasuringOf(c, kNewNode));
  c.Return(kNewNode);
  c.Settle();
  EXPECT_TRUE(MeasuringOf(c, kNewNode));
}

TEST_F(ANodeThatJoins, TakesJobsAsItIsWhenAnOperatorSaysSo) {
  Measured(c, kNewNode, 127);
  ASSERT_TRUE(c.Do(UncordonNode{"n1", "ann"}).status.ok());
  EXPECT_EQ(ValidationOf(c, kNewNode).need, ValidationNeed::kNone);
  EXPECT_EQ(c.job(c.Submit(Spec(1))).state, JobState::kStarting);
  EXPECT_EQ(c.Do(UncordonNode{"n1", "ann"}).status.reason(), "NOT_CORDONED");
}

TEST_F(ANodeThatJoins, TakesJobsWhenThePolicyAsksNoMore) {
  Measured(c, kNewNode, 127);
  c.policy().health.validate.on_join = false;
  c.Do(PolicyChanged{"health.validate.on_join: false"});
  EXPECT_EQ(ValidationOf(c, kNewNode).need, ValidationNeed::kNone);
  EXPECT_EQ(c.job(c.Submit(Spec(1))).state, JobState::kStarting);
}

TEST_F(ANodeThatJoins, IsNewOnce) {
  Measured(c, kNewNode, 0);
  c.Silence(kNewNode, true);
  c.Return(kNewNode);
  EXPECT_EQ(ValidationOf(c, kNewNode).need, ValidationNeed::kNone);
}

TEST_F(ANodeThatJoins, LeavesNothingBehindWhenItIsRemoved) {
  Measured(c, kNewNode, 127);
  c.Silence(kNewNode, true);
  ASSERT_TRUE(c.Do(RemoveNode{"n1"}).status.ok());
  c.Advance(kMeasureAgainWaiting);
  EXPECT_EQ(c.state().index().kept.unfinished.jobs, 0u);
  EXPECT_THAT(c.state().index().measure_again, IsEmpty());
}

TEST_F(ANodeThatJoins, GoesOnUnderANewLeader) {
  c.Settle();
  c.RestartScheduler();
  c.Return(kNewNode);
  EXPECT_EQ(MeasuringOf(c, kNewNode), JobId(1));
  Measured(c, kNewNode, 0);
  EXPECT_EQ(ValidationOf(c, kNewNode).good_at, c.now());
}

TEST_F(ANodeThatJoins, HasItsPauseUnderANewLeaderToo) {
  Measured(c, kNewNode, 127);
  c.RestartScheduler();
  c.Return(kNewNode);
  EXPECT_FALSE(MeasuringOf(c, kNewNode));
  c.Advance(kMeasureAgainWaiting);
  EXPECT_TRUE(MeasuringOf(c, kNewNode));
}

TEST(NodesThatJoin, AreNotMeasuredAllAtOnce) {
  Cluster c(Zones{.nodes = 40}, Validating({.on_join = true}));
  EXPECT_EQ(MeasuredNow(c), MeasuredAtOnce(40, true));
  Measured(c, kNewNode, 0);
  EXPECT_EQ(MeasuredNow(c), MeasuredAtOnce(40, true)) << "the next one's turn";
}

TEST(NodesThatJoin, TakeJobsAtOnceWhereThePolicyDoesNotAsk) {
  Cluster c(Zones{.nodes = 1}, Validating({}));
  EXPECT_EQ(c.job(c.Submit(Spec(1))).state, JobState::kStarting);
  EXPECT_EQ(ValidationOf(c, kNewNode), NodeValidation());
}

// --- a node comes back from repair

struct ARepairedNode : ::testing::Test {
  Cluster c{Zones{.nodes = 1}, Validating({})};
  void TakeOut() {
    Tell(c, kNewNode, {Told(1, "xid", 79)});
    ASSERT_EQ(c.node(kNewNode).cordon->by, "health");
  }
};

TEST_F(ARepairedNode, TakesNoJobBeforeItWasFoundGood) {
  TakeOut();
  ASSERT_TRUE(c.Do(UncordonNode{"n1", "ann"}).status.ok());
  const JobId job = c.Submit(Spec(1));
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
  EXPECT_THAT(c.Blockers(job)[0].message, HasSubstr("waits to be measured: it was out by health, and job 1 measures"));
  Measured(c, kNewNode, 0);
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
}

TEST_F(ARepairedNode, TakesJobsAtOnceWhereThePolicyDoesNotAsk) {
  c.policy().health.validate.after_repair = false;
  TakeOut();
  c.Do(UncordonNode{"n1", "ann"});
  EXPECT_EQ(c.job(c.Submit(Spec(1))).state, JobState::kStarting);
}

TEST_F(ARepairedNode, IsNoneThatAnOperatorTookOutForSomethingElse) {
  c.Do(CordonNode{"n1", "ann", "a new fan", {}});
  c.Do(UncordonNode{"n1", "ann"});
  EXPECT_EQ(ValidationOf(c, kNewNode), NodeValidation());
}

TEST_F(ARepairedNode, IsOneThatWasFoundBadBehindAnOperatorsCordon) {
  c.policy().health.validate.every = kWeek;
  c.Do(TimePassed{});
  c.Settle();
  c.Do(CordonNode{"n1", "ann", "a new fan", {}});
  Measured(c, kNewNode, 3, "a slow core");
  EXPECT_EQ(c.node(kNewNode).cordon->by, "ann") << "it stays in their words";
  c.Do(UncordonNode{"n1", "ann"});
  EXPECT_EQ(ValidationOf(c, kNewNode).need, ValidationNeed::kRepair);
}

// --- a job stood still there

struct ASuspect : ::testing::Test {
  Cluster c{Zones{.nodes = 2}, Validating({})};
};

TEST_F(ASuspect, IsLeftOutUntilItWasFoundGood) {
  SuspectIt(c, kNewNode);
  Measured(c, kNewNode, 127);
  c.Advance(kMeasureAgain);
  Measured(c, kNewNode, 127);
  c.Advance(kMeasureAgain - Milliseconds(1));
  ASSERT_LT(c.node(kNewNode).suspect_until, c.now());
  const JobId job = c.Submit(Spec(1));
  EXPECT_EQ(c.attempt(job).nodes, std::vector{kSpareNode}) << "the other one fits";
  c.Settle();
  c.Advance(Milliseconds(1));
  Measured(c, kNewNode, 0);
  EXPECT_EQ(ValidationOf(c, kNewNode).need, ValidationNeed::kNone);
  EXPECT_EQ(c.node(kNewNode).suspect, 0u);
  EXPECT_EQ(c.node(kNewNode).suspect_why, "");
}

TEST_F(ASuspect, IsTakenWhereNothingElseDoesAndMeasuredLater) {
  SuspectIt(c, kNewNode);
  c.Settle();
  const JobId gang = c.Submit(Spec(2));
  c.Settle();
  EXPECT_EQ(c.job(gang).state, JobState::kRunning) << "whoever comes interrupts it";
  EXPECT_EQ(c.job(JobId(1)).state, JobState::kCancelled);
  EXPECT_EQ(ValidationOf(c, kNewNode).need, ValidationNeed::kSuspicion);
  c.Advance(kMeasureAgainInterrupted);
  EXPECT_FALSE(MeasuringOf(c, kNewNode)) << "it is in use";
  c.Finish(gang);
  EXPECT_TRUE(MeasuringOf(c, kNewNode));
}

TEST_F(ASuspect, IsCordonedWhenItIsBad) {
  SuspectIt(c, kNewNode);
  Measured(c, kNewNode, 3, "a bad link");
  EXPECT_EQ(c.node(kNewNode).cordon->by, "health");
  EXPECT_EQ(ValidationOf(c, kNewNode).need, ValidationNeed::kNone);
  EXPECT_EQ(ValidationOf(c, kNewNode).bad, "a bad link");
}

// The network may be to blame, which nobody finds on one node alone.
TEST_F(ASuspect, IsMeasuredWithAPartnerThatNothingIsHeldAgainst) {
  SuspectIt(c, kNewNode);
  c.Settle();
  const Job& job = c.job(MeasuringOf(c, kNewNode));
  EXPECT_EQ(job.validates, kNewNode);
  EXPECT_EQ(job.spec->nodes, 2u);
  EXPECT_EQ(job.spec->run,
            "glim-validate --part network --json; code=$?; [ $code -le 1 ] || exit $code; "
            "[ \"$NODE_RANK\" != 0 ] || exec glim-validate --quick --json --alone");
  EXPECT_EQ(c.attempt(job.id).nodes, (std::vector{kNewNode, kSpareNode})) << "rank 0 is the suspect";
  EXPECT_FALSE(MeasuringOf(c, kSpareNode)) << "nothing is said of the partner";
  Measured(c, kNewNode, 3, "network stream 10.0.0.1 -> 10.0.0.2: 12 MB/s");
  EXPECT_EQ(c.node(kNewNode).cordon->by, "health");
  EXPECT_FALSE(c.node(kSpareNode).cordon);
  EXPECT_EQ(c.node(kSpareNode).suspect, 0u);
  EXPECT_FALSE(c.node(kSpareNode).holder);
}

TEST_F(ASuspect, IsMeasuredAloneWhereNoPartnerIs) {
  const JobId other = c.Submit(Spec(1));
  c.Settle();
  const NodeId taken = c.attempt(other).nodes[0], left = taken == kNewNode ? kSpareNode : kNewNode;
  SuspectIt(c, left);
  EXPECT_EQ(c.attempt(MeasuringOf(c, left)).nodes, std::vector{left}) << "nobody is interrupted for it";
}

TEST_F(ASuspect, IsNoPartnerForAnother) {
  Changes changes(c.state(), c.policy(), c.now());
  for (const NodeId id : {kNewNode, kSpareNode}) ToBeMeasured(changes, id, ValidationNeed::kSuspicion, "a hang");
  c.Commit(changes.Take());
  c.Do(TimePassed{});
  for (const NodeId id : {kNewNode, kSpareNode}) EXPECT_EQ(c.attempt(MeasuringOf(c, id)).nodes, std::vector{id});
}

TEST(ASuspectOfAnotherZone, IsMeasuredAlone) {
  Cluster c(Zones{.zones = 2, .nodes = 1}, Validating({}));
  SuspectIt(c, kNewNode);
  EXPECT_EQ(c.attempt(MeasuringOf(c, kNewNode)).nodes, std::vector{kNewNode});
}

TEST_F(ASuspect, IsNoneAnyMoreWhenAnOperatorReturnsIt) {
  c.Do(CordonNode{"n1", "ann", "a new fan", {}});
  SuspectIt(c, kNewNode);
  c.Do(ReturnNode{"n1"});
  EXPECT_EQ(ValidationOf(c, kNewNode).need, ValidationNeed::kNone);
}

}  // namespace
}  // namespace glim::core
