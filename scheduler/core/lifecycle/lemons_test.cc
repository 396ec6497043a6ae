// Nodes by whose fault jobs fail again and again: kept from large jobs, then taken out, with all that failed as the
// reason; and what is held against no node.
#include "scheduler/core/lifecycle/lemons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scheduler/core/testing/cluster_builder.h"
#include "scheduler/core/testing/health_reports.h"
#include "scheduler/core/testing/validations.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Patient;
using testing::Spec;
using testing::SpecWith;
using testing::Tell;
using testing::Told;
using testing::Zones;

const NodeId kFaulty{1};
constexpr const char* kGpu = "0000:3b:00.0";

JobSpec OnTheFaulty() {
  return SpecWith(1, [](JobSpec& spec) { spec.placement.node = "n1"; });
}

// Nodes that are given back take jobs at once: that they are measured first is another test's (validation_test.cc).
Policy Unmeasured() {
  Policy policy = Patient();
  policy.health.validate.after_repair = false;
  return policy;
}

class LemonsTest : public ::testing::Test {
 protected:
  explicit LemonsTest(Policy policy = Unmeasured()) : c(Zones{.nodes = 4}, std::move(policy)) {}

  // A job runs on the node, and an Xid of this device ends it.
  JobId FailBy(const std::string& device, std::int64_t xid = 74) {
    const JobId job = c.Running(OnTheFaulty());
    Tell(c, kFaulty, {Told(++seq, "xid", xid, device)});
    Leave(job);
    return job;
  }
  void Leave(JobId job) {
    c.Cancel(job);
    c.Settle();
  }
  // "cause device" of what is held against it, the newest last.
  std::vector<std::string> Held(NodeId node = kFaulty) const {
    std::vector<std::string> held;
    for (const NodeFailure& failure : c.node(node).failures) {
      held.push_back(failure.cause + (failure.device.empty() ? "" : " " + failure.device));
    }
    return held;
  }

  mutable Cluster c;
  std::uint64_t seq = 0;
};

// Until the device is taken out, the job may come back to it more than once.
TEST_F(LemonsTest, OneJobThatFailsByOneDeviceAgainIsOneFailure) {
  const JobId job = c.Running(OnTheFaulty());
  for (int times = 0; times < 3; ++times) {
    Tell(c, kFaulty, {Told(++seq, "xid", 74, kGpu)});
    c.Settle();
    ASSERT_EQ(c.attempt(job).nodes, std::vector{kFaulty});
    c.Advance(Hours(30));
  }
  EXPECT_THAT(Held(), ElementsAre("gpu_failure " + std::string(kGpu)));
  EXPECT_FALSE(c.node(kFaulty).lemon);
  Leave(job);
  FailBy(kGpu);
  EXPECT_TRUE(c.node(kFaulty).lemon) << "another job's is another one";
}

TEST_F(LemonsTest, ANodeByWhichTwoJobsFailedIsALemon) {
  const JobId first = FailBy(kGpu);
  EXPECT_EQ(c.node(kFaulty).failures, (std::vector<NodeFailure>{{c.now(), "gpu_failure", kGpu, first, "ann"}}));
  EXPECT_FALSE(c.node(kFaulty).lemon);
  FailBy("0000:af:00.0");
  EXPECT_TRUE(c.node(kFaulty).lemon);
  EXPECT_FALSE(c.node(kFaulty).cordon);
  EXPECT_EQ(c.Noted(HistoryKind::kNodeUnreliable), 1);
  FailBy(kGpu);
  EXPECT_EQ(c.Noted(HistoryKind::kNodeUnreliable), 1) << "it is said once";
  EXPECT_FALSE(c.node(NodeId(2)).lemon);
}

TEST_F(LemonsTest, ALargeJobGoesThereOnlyWhereNothingElseFits) {
  c.policy().health.lemons.large_nodes = 2;
  FailBy(kGpu);
  FailBy("0000:af:00.0");
  c.Advance(c.policy().suspect_for + Seconds(1));  // it is no suspect any more
  EXPECT_EQ(c.attempt(c.Submit(Spec(3))).nodes, (std::vector{NodeId(2), NodeId(3), NodeId(4)}));
  Leave(JobId(3));
  EXPECT_EQ(c.attempt(c.Submit(Spec(4))).nodes.size(), 4u);
}

TEST_F(LemonsTest, TheFourthFailureTakesItOutAndTheReasonHasAllOfThem) {
  for (const char* device : {kGpu, "0000:af:00.0", kGpu, "0000:af:00.0"}) {
    EXPECT_FALSE(c.node(kFaulty).cordon) << device;
    FailBy(device);
  }
  ASSERT_TRUE(c.node(kFaulty).cordon);
  EXPECT_EQ(c.node(kFaulty).cordon->by, "health");
  EXPECT_FALSE(c.node(kFaulty).cordon->drain);
  EXPECT_EQ(c.node(kFaulty).cordon->reason,
            "jobs failed by it 4 times within 30 d: gpu_failure of 0000:3b:00.0 (job 1), gpu_failure of 0000:af:00.0 "
            "(job 2), gpu_failure of 0000:3b:00.0 (job 3), gpu_failure of 0000:af:00.0 (job 4); validate it, repair or "
            "replace what failed, then: glim admin node uncordon n1");
  EXPECT_EQ(c.Noted(HistoryKind::kNodeCordoned), 1);
  ASSERT_TRUE(c.Do(UncordonNode{"n1", "op"}).status.ok());
  EXPECT_THAT(Held(), IsEmpty()) << "they count anew";
  EXPECT_FALSE(c.node(kFaulty).lemon);
  FailBy("0000:b0:00.0");
  EXPECT_TRUE(IsUsable(c.node(kFaulty)));
}

// Each time it is repaired and given back.
TEST_F(LemonsTest, WhatTakesANodeOutByItselfCountsLikeAllElse) {
  for (int i = 1; i <= 4; ++i) {
    FailBy(kGpu, 79);
    ASSERT_TRUE(c.node(kFaulty).cordon);
    const bool all = c.node(kFaulty).cordon->reason.starts_with("jobs failed by it 4 times");
    EXPECT_EQ(all, i == 4) << c.node(kFaulty).cordon->reason;
    ASSERT_TRUE(c.Do(UncordonNode{"n1", "op"}).status.ok());
    EXPECT_EQ(Held().size(), i < 4 ? static_cast<std::size_t>(i) : 0u);
  }
}

TEST_F(LemonsTest, ADrainStaysOneAndSaysAllThatFailed) {
  for (const char* device : {kGpu, "0000:af:00.0", "0000:b0:00.0"}) FailBy(device);
  FailBy(kGpu, 63);
  ASSERT_TRUE(c.node(kFaulty).cordon);
  EXPECT_TRUE(c.node(kFaulty).cordon->drain);
  EXPECT_THAT(c.node(kFaulty).cordon->reason, ::testing::StartsWith("jobs failed by it 4 times"));
}

TEST_F(LemonsTest, AnOperatorsCordonStaysInTheirWords) {
  for (const char* device : {kGpu, "0000:af:00.0", "0000:b0:00.0"}) FailBy(device);
  const JobId job = c.Running(OnTheFaulty());
  ASSERT_TRUE(c.Do(CordonNode{"n1", "op", "a new fan", Hours(1)}).status.ok());
  Tell(c, kFaulty, {Told(++seq, "xid", 74, kGpu)});
  EXPECT_EQ(Held().size(), 4u);
  EXPECT_EQ(c.node(kFaulty).cordon->by, "op");
  EXPECT_THAT(c.node(kFaulty).cordon->reason, ::testing::StartsWith("a new fan; it does not end by itself any more"));
  Leave(job);
}

TEST_F(LemonsTest, WhatIsOlderThanTheWindowCountsNoMore) {
  c.policy().health.lemons.within = Hours(2);
  FailBy(kGpu);
  const TimePoint first = c.now();
  c.Advance(Hours(1));
  FailBy("0000:af:00.0");
  ASSERT_TRUE(c.node(kFaulty).lemon);
  c.Advance(first + Hours(2) - c.now() - Milliseconds(1));
  EXPECT_TRUE(c.node(kFaulty).lemon);
  c.Advance(Milliseconds(1));
  EXPECT_FALSE(c.node(kFaulty).lemon) << "by a timer: nothing else happens";
  EXPECT_EQ(Held().size(), 2u) << "and is shown all the same";
  FailBy(kGpu);
  EXPECT_TRUE(c.node(kFaulty).lemon);
  EXPECT_EQ(c.Noted(HistoryKind::kNodeUnreliable), 2);
}

TEST_F(LemonsTest, ANewSchedulerKnowsIt) {
  FailBy(kGpu);
  FailBy("0000:af:00.0");
  c.RestartScheduler();
  EXPECT_TRUE(c.node(kFaulty).lemon);
  EXPECT_EQ(Held().size(), 2u);
}

TEST_F(LemonsTest, AChangedPolicyDecidesAtOnceWhoIsOne) {
  FailBy(kGpu);
  c.policy().health.lemons.avoid_times = 1;
  c.Do(PolicyChanged{"health.lemons.avoid_times"});
  EXPECT_TRUE(c.node(kFaulty).lemon);
  c.policy().health.lemons.avoid_times = 0;
  c.Do(PolicyChanged{"health.lemons.avoid_times"});
  EXPECT_FALSE(c.node(kFaulty).lemon);
}

TEST_F(LemonsTest, AnOperatorWhoReturnsItForgetsThem) {
  FailBy(kGpu);
  FailBy("0000:af:00.0");
  ASSERT_TRUE(c.Do(ReturnNode{"n1"}).status.ok());
  EXPECT_THAT(Held(), IsEmpty());
  EXPECT_FALSE(c.node(kFaulty).lemon);
}

// --- What is a failure of the node.
TEST_F(LemonsTest, ARankThatFailedByTheNodesLinkIsOne) {
  const JobId job = c.Running(Spec(2));
  Tell(c, kFaulty, {Told(++seq, "link_flash", 0, "mlx5_0/1")});
  EXPECT_THAT(Held(), IsEmpty()) << "nobody has failed by it";
  c.Exit(job, 1, 1);
  c.Settle();
  EXPECT_THAT(Held(), ElementsAre("network mlx5_0/1"));
  EXPECT_THAT(Held(NodeId(2)), IsEmpty()) << "the rank that failed was there, and the link was not";
}

TEST_F(LemonsTest, AnAttemptCountsOnceHoweverManyFindingsThereAre) {
  const JobId job = c.Running(Spec(2));
  Tell(c, kFaulty, {Told(++seq, "xid", 63), Told(++seq, "xid", 74), Told(++seq, "link_flash", 0, "mlx5_0/1")});
  Tell(c, NodeId(2), {Told(1, "xid", 63)});
  c.Exit(job, 1, 1);
  c.Settle();
  EXPECT_THAT(Held(), ElementsAre(std::string("gpu_failure ") + kGpu));
  EXPECT_THAT(Held(NodeId(2)), IsEmpty()) << "the attempt had been stopped already";
}

TEST_F(LemonsTest, ALostTaskIsOne) {
  const JobId job = c.Running(OnTheFaulty());
  c.Edit(job, 0, [](ObservedTask& task) { task.lost = true; });
  c.Settle();
  EXPECT_THAT(Held(), ElementsAre("node_failure"));
}

// It mostly started anew, which may be no fault of its own.
TEST_F(LemonsTest, LossesKeepLargeJobsAwayAndTakeNoNodeOut) {
  for (std::size_t i = 1; i <= 5; ++i) {
    const JobId job = c.Running(OnTheFaulty());
    c.Edit(job, 0, [](ObservedTask& task) {
      task.lost = true;
      task.phase = TaskPhase::kReleased;
    });
    Leave(job);
    c.Advance(c.policy().suspect_for + Seconds(1));
    EXPECT_EQ(Held().size(), i);
  }
  EXPECT_TRUE(c.node(kFaulty).lemon);
  EXPECT_FALSE(c.node(kFaulty).cordon);
  for (const char* device : {kGpu, "0000:af:00.0", "0000:b0:00.0"}) FailBy(device);
  EXPECT_FALSE(c.node(kFaulty).cordon) << "three that a finding explains";
  FailBy(kGpu);
  EXPECT_TRUE(c.node(kFaulty).cordon);
}

TEST_F(LemonsTest, AJobsOwnFailureIsNone) {
  const JobId job = c.Running(OnTheFaulty());
  Tell(c, kFaulty, {Told(++seq, "xid", 31)});
  c.Exit(job, 0, 1);
  c.Settle();
  ASSERT_EQ(c.job(job).state, JobState::kFailed);
  const JobId cancelled = c.Running(OnTheFaulty());
  Leave(cancelled);
  const JobId full = c.Running(OnTheFaulty());
  c.Edit(full, 0, [](ObservedTask& task) {
    task.out_of_memory = true;
    testing::ScriptedAgent::Release(task, 137);
  });
  c.Settle();
  ASSERT_EQ(c.attempt(full).outcome, Outcome::kOutOfMemory);
  EXPECT_THAT(Held(), IsEmpty());
}

TEST_F(LemonsTest, WhatIsFoundWithoutAJobIsNone) {
  Tell(c, kFaulty, {Told(++seq, "xid", 79)});
  EXPECT_THAT(Held(), IsEmpty()) << "its cordon says all";
}

class LostLemonsTest : public LemonsTest {
 protected:
  LostLemonsTest() : LemonsTest(Policy()) {}
  void Lose(std::vector<NodeId> nodes) {
    for (const NodeId node : nodes) c.Silence(node);
    c.Advance(c.policy().node_lost_after + Seconds(1));
  }
};

TEST_F(LostLemonsTest, ALossIsOne) {
  c.Running(OnTheFaulty());
  Lose({kFaulty});
  ASSERT_EQ(c.node(kFaulty).state, NodeState::kLost);
  EXPECT_THAT(Held(), ElementsAre("node_failure"));
}

TEST_F(LostLemonsTest, TheLossOfANodeThatWasTakenOutIsNone) {
  c.Running(OnTheFaulty());
  ASSERT_TRUE(c.Do(CordonNode{"n1", "op", "a new kernel"}).status.ok());
  Lose({kFaulty});
  ASSERT_EQ(c.node(kFaulty).state, NodeState::kLost);
  EXPECT_THAT(Held(), IsEmpty()) << "whoever took it out may start it anew";
}

TEST_F(LostLemonsTest, WhatIsLostInAnOutageIsNone) {
  c.Running(OnTheFaulty());
  Lose({kFaulty, NodeId(2)});
  ASSERT_TRUE(c.state().outage);
  ASSERT_TRUE(c.Do(ResolveOutage{}).status.ok());
  ASSERT_EQ(c.node(kFaulty).state, NodeState::kLost);
  EXPECT_THAT(Held(), IsEmpty());
}

TEST_F(LemonsTest, AGoodMeasurementTakesBackNoFindingOfTheNodes) {
  FailBy(kGpu);
  ASSERT_TRUE(c.Do(ValidateNode{.name = "n1", .by = "op"}).status.ok());
  testing::Measured(c, kFaulty, 0);
  EXPECT_THAT(Held(), ElementsAre("gpu_failure " + std::string(kGpu)));
}

}  // namespace
}  // namespace glim::core
