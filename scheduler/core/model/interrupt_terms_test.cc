// How long a job may have to leave: the spec's words under the policy's caps by class.
#include "scheduler/core/model/interrupt_terms.h"

#include <gtest/gtest.h>

#include "scheduler/core/testing/specs.h"

namespace glim::core {
namespace {

using testing::JobRow;
using testing::SpecWith;

Policy Capped() {
  Policy policy;
  policy.grace_cap = {Minutes(5), {{PriorityClass::kLow, Seconds(20)}, {PriorityClass::kHigh, Minutes(30)}}};
  policy.max_grace_cap = {Minutes(10), {{PriorityClass::kLow, Seconds(10)}}};
  return policy;
}

JobSpec Wants(Duration grace, Duration max_grace, PriorityClass priority = PriorityClass::kNormal) {
  return SpecWith(1, [&](JobSpec& s) {
    s.grace = grace;
    s.max_grace = max_grace;
    s.priority = priority;
  });
}

TEST(GraceCap, WhatIsAboveIsRefusedWithTheCap) {
  const Status grace = CheckGrace(Capped(), Wants(Minutes(6), Minutes(6)));
  EXPECT_EQ(grace.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(grace.field(), "interrupt.grace");
  EXPECT_EQ(grace.message(), "6m is more than jobs of class normal may have, 5m");
  EXPECT_EQ(grace.fix(), "use at most 5m (grace_cap of the cluster's policy)");
  const Status longest = CheckGrace(Capped(), Wants(Minutes(1), Minutes(11)));
  EXPECT_EQ(longest.field(), "interrupt.max_grace");
  EXPECT_EQ(longest.message(), "11m is more than jobs of class normal may have, 10m");
}

TEST(GraceCap, IsTheClasss) {
  EXPECT_TRUE(CheckGrace(Capped(), Wants(Minutes(5), Minutes(10))).ok());
  EXPECT_TRUE(CheckGrace(Capped(), Wants(Minutes(30), Minutes(30), PriorityClass::kHigh)).ok());
  EXPECT_FALSE(CheckGrace(Capped(), Wants(Minutes(2), Minutes(5), PriorityClass::kLow)).ok());
}

TEST(GraceCap, IsFiveMinutesWhereThePolicySaysNothing) {
  EXPECT_TRUE(CheckGrace(Policy(), Wants(Minutes(5), Minutes(5))).ok());
  EXPECT_FALSE(CheckGrace(Policy(), Wants(Minutes(5) + Milliseconds(1), Minutes(6))).ok());
  EXPECT_FALSE(CheckGrace(Policy(), Wants(Minutes(1), Minutes(5) + Milliseconds(1))).ok());
}

// A spec that says nothing of graces is good under every policy.
TEST(GraceCap, ASpecsDefaultsAreCutAndNotRefused) {
  const JobSpec spec = Wants(JobSpec().grace, JobSpec().max_grace, PriorityClass::kLow);
  EXPECT_TRUE(CheckGrace(Capped(), spec).ok());
  EXPECT_EQ(GraceOf(Capped(), spec, PriorityClass::kLow).grace, Seconds(20));
  EXPECT_EQ(GraceOf(Capped(), spec, PriorityClass::kLow).max_grace, Seconds(20)) << "never less than the grace";
}

TEST(GraceCap, OfAutoTheLargestCountsAtTheSubmissionAndItsClassLater) {
  const JobSpec spec = Wants(Minutes(30), Minutes(30), PriorityClass::kAuto);
  EXPECT_TRUE(CheckGrace(Capped(), spec).ok());
  EXPECT_EQ(GraceOf(Capped(), spec, PriorityClass::kHigh).grace, Minutes(30));
  EXPECT_EQ(GraceOf(Capped(), spec, PriorityClass::kNormal).grace, Minutes(5));
}

TEST(GraceCap, TheStatusSaysWhatIsCut) {
  EXPECT_EQ(AskedInWords(Capped(), JobRow(1, Wants(Hours(1), Hours(1)))),
            "the SDK or glim-task; grace 5m, the cap of class normal (its spec: 1h)");
}

Job Measured(Duration save, Duration restore) {
  Job job = JobRow(1);
  job.save_cost = save;
  job.restore_cost = restore;
  return job;
}

TEST(MinRun, IsTenTimesWhatWasMeasuredUpToThePolicysBound) {
  const Policy policy;
  EXPECT_EQ(MinRunOf(policy, JobRow(1)), Seconds(10));
  EXPECT_EQ(MinRunOf(policy, Measured(Seconds(30), Seconds(29))), Seconds(590));
  EXPECT_EQ(MinRunOf(policy, Measured(Seconds(30), Seconds(30))), Minutes(10));
  EXPECT_EQ(MinRunOf(policy, Measured(Seconds(30), Hours(24))), Minutes(10));
  EXPECT_EQ(MinRunOf(policy, Measured(Hours(1), Seconds(1))), Minutes(10));
}

TEST(MinRun, FollowsTheBoundOfThePolicy) {
  Policy policy;
  policy.min_run_max = Hours(2);
  EXPECT_EQ(MinRunOf(policy, Measured(Minutes(1), Minutes(10))), Minutes(110));
  policy.min_run_max = Seconds(3);
  EXPECT_EQ(MinRunOf(policy, JobRow(1)), Seconds(3)) << "of what nothing is known, too";
  policy.min_run_max = {};
  EXPECT_EQ(MinRunOf(policy, JobRow(1)), Duration{});
  policy.min_run_max = Hours(2);
  policy.min_run_factor = 0;
  EXPECT_EQ(LongestMinRun(policy), Duration{});
}

TEST(MinRun, OfWhatIsBorrowedIsNoLongerThanThatOfAnUnknownJob) {
  const Policy policy;
  EXPECT_EQ(MinRunOf(policy, Measured(Seconds(30), Hours(24)), true), Seconds(10));
  EXPECT_EQ(MinRunOf(policy, Measured(Milliseconds(100), Milliseconds(200)), true), Seconds(3)) << "nor than its own";
}

TEST(DoubledQuantum, DoublesUpToADayAndNeverShrinks) {
  EXPECT_EQ(DoubledQuantum(Minutes(15), 0), Minutes(15));
  EXPECT_EQ(DoubledQuantum(Minutes(15), 2), Hours(1));
  EXPECT_EQ(DoubledQuantum(Minutes(15), kQuantumDoublingsMax), Hours(24));
  EXPECT_EQ(DoubledQuantum({}, 1), Minutes(2)) << "a policy may give no quantum at all";
  EXPECT_EQ(DoubledQuantum({}, kQuantumDoublingsMax), Hours(24));
  EXPECT_EQ(DoubledQuantum(Hours(48), 3), Hours(48));
}

}  // namespace
}  // namespace glim::core
