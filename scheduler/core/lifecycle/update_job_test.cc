#include "scheduler/core/lifecycle/update_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"
#include "scheduler/core/testing/specs.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::ElementsAre;
using testing::Patient;
using testing::Spec;
using testing::Zones;

JobSpec Limited(Duration limit) {
  JobSpec spec = Spec(1);
  spec.time_limit = limit;
  return spec;
}

UpdateJob Update(JobId job) {
  UpdateJob update;
  update.job = job;
  update.user = "ann";
  return update;
}

TEST(StartAfter, AJobWaitsForItsMomentAndItsTurnCountsFromThen) {
  Cluster c(Zones{.nodes = 1}, Patient());
  JobSpec later = Spec(1);
  later.start_after = c.now() + Minutes(10);
  const JobId job = c.Submit(later);
  c.Advance(Minutes(9));
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
  c.Advance(Minutes(1) + Seconds(1));
  EXPECT_EQ(c.job(job).attempts, 1u);
  EXPECT_GE(c.attempt(job, 1).queued_at, later.start_after);
}

TEST(StartAfter, AMomentThatHasPassedIsNow) {
  Cluster c(Zones{.nodes = 1}, Patient());
  JobSpec spec = Spec(1);
  spec.start_after = c.now() - Minutes(1);
  EXPECT_EQ(c.job(c.Submit(spec)).attempts, 1u);
}

TEST(StartAfter, OfAHeldJobHoldsWhenItIsResumed) {
  Cluster c(Zones{.nodes = 1}, Patient());
  JobSpec later = Spec(1);
  later.start_after = c.now() + Minutes(10);
  const JobId job = c.Submit(later);
  ASSERT_TRUE(c.Do(SuspendJob{job, "ann"}).status.ok());
  ASSERT_TRUE(c.Do(ResumeJob{job, "ann"}).status.ok());
  EXPECT_EQ(c.job(job).not_before, later.start_after);
  EXPECT_EQ(c.job(job).attempts, 0u);
}

TEST(StartAfter, MoreThanAYearAheadIsRefused) {
  Cluster c(Zones{.nodes = 1}, Patient());
  JobSpec spec = Spec(1);
  spec.start_after = c.now() + Hours(24) * 367;
  const Reply reply = c.Do(SubmitJobs{"ann", "", "", {spec}});
  EXPECT_EQ(reply.status.field(), "start_after");
  EXPECT_TRUE(reply.jobs.empty());
}

TEST(UpdateJob, ChangesWhatIsNamedAndSaysIt) {
  Cluster c(Zones{.nodes = 1}, Patient());
  c.Running(Spec(1));
  const JobId job = c.Submit(Limited(Hours(2)));
  UpdateJob update = Update(job);
  update.name = "sft-2";
  update.time_limit = Hours(4);
  update.dry_run = true;
  EXPECT_THAT(c.Do(update).words, ElementsAre("name " + Spec(1).name + " -> sft-2", "limits.time 2h -> 4h"));
  EXPECT_EQ(c.job(job).spec->time_limit, Hours(2));
  update.dry_run = false;
  ASSERT_TRUE(c.Do(update).status.ok());
  EXPECT_EQ(c.job(job).spec->name, "sft-2");
  EXPECT_EQ(c.job(job).spec->time_limit, Hours(4));
  EXPECT_EQ(c.Noted(HistoryKind::kJobUpdated), 1);
  EXPECT_TRUE(c.Do(update).words.empty()) << "it is so already";
  EXPECT_EQ(c.Noted(HistoryKind::kJobUpdated), 1);
}

// A backfill hold lets it run where it is gone in time.
TEST(UpdateJob, AJobWithNodesGetsLessTimeAndFromAnOperatorAloneMore) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const JobId job = c.Running(Limited(Hours(2)));
  UpdateJob update = Update(job);
  update.time_limit = Hours(3);
  EXPECT_EQ(c.Do(update).status.reason(), "LIMIT_IN_USE");
  update.time_limit = Duration{};
  EXPECT_EQ(c.Do(update).status.reason(), "LIMIT_IN_USE") << "none is more";
  update.time_limit = Hours(1);
  EXPECT_TRUE(c.Do(update).status.ok());
  update.time_limit = Hours(3);
  update.user = "ora";
  update.by_right = update.unbound = true;
  EXPECT_TRUE(c.Do(update).status.ok());
  EXPECT_EQ(c.job(job).spec->time_limit, Hours(3));
}

TEST(UpdateJob, ALimitAboveThePoolsIsAnOperatorsToGive) {
  Policy policy = Patient();
  policy.time_max = {{"default", Hours(4)}};
  Cluster c(Zones{.nodes = 1}, policy);
  c.Running(Limited(Hours(1)));
  const JobId job = c.Submit(Limited(Hours(1)));
  UpdateJob update = Update(job);
  for (const Duration limit : {Hours(5), Duration{}}) {
    update.time_limit = limit;
    EXPECT_EQ(c.Do(update).status.field(), "limits.time");
  }
  update.time_limit = Hours(4);
  EXPECT_TRUE(c.Do(update).status.ok());
  update.time_limit = Hours(5);
  update.user = "ora";
  update.by_right = update.unbound = true;
  EXPECT_TRUE(c.Do(update).status.ok());
}

TEST(UpdateJob, ALowerLimitThatIsUsedUpEndsTheJob) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const JobId job = c.Running(Limited(Hours(2)));
  c.Advance(Minutes(30));
  UpdateJob update = Update(job);
  update.time_limit = Minutes(20);
  ASSERT_TRUE(c.Do(update).status.ok());
  c.Advance(Seconds(1));
  EXPECT_EQ(c.job(job).state, JobState::kInterrupting);
}

TEST(UpdateJob, ALimitThatAWaitingJobHasUsedUpIsRefused) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const JobId job = c.Running(Limited(Hours(2)));
  c.Advance(Minutes(30));
  ASSERT_TRUE(c.Suspend(job).status.ok());
  c.Settle();
  ASSERT_EQ(c.job(job).state, JobState::kHeld);
  UpdateJob update = Update(job);
  update.time_limit = Minutes(20);
  const Reply refused = c.Do(update);
  EXPECT_EQ(refused.status.field(), "limits.time");
  EXPECT_EQ(c.job(job).spec->time_limit, Hours(2));
  update.time_limit = Minutes(40);
  EXPECT_TRUE(c.Do(update).status.ok());
}

TEST(UpdateJob, AnotherMomentHoldsUntilTheFirstStart) {
  Cluster c(Zones{.nodes = 1}, Patient());
  JobSpec later = Spec(1);
  later.start_after = c.now() + Hours(1);
  const JobId job = c.Submit(later);
  UpdateJob update = Update(job);
  update.start_after = c.now();
  ASSERT_TRUE(c.Do(update).status.ok());
  EXPECT_EQ(c.job(job).attempts, 1u) << "it starts at once";
  update.start_after = c.now() + Hours(1);
  const Reply late = c.Do(update);
  EXPECT_EQ(late.status.reason(), "WRONG_STATE");
  EXPECT_EQ(late.status.field(), "start_after");
}

TEST(UpdateJob, IsRefusedOfOthersJobsOfEndedOnesAndOfWhatNobodyCouldSubmit) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const JobId job = c.Submit(Spec(1));
  UpdateJob update = Update(job);
  update.name = "a/b";
  EXPECT_EQ(c.Do(update).status.field(), "name");
  update.name = "b";
  update.user = "bob";
  EXPECT_EQ(c.Do(update).status.reason(), "NOT_YOURS");
  c.Do(CancelJob{job, "ann"});
  update.user = "ann";
  EXPECT_EQ(c.Do(update).status.reason(), "WRONG_STATE");
}

TEST(UpdateJob, LeavesARepeatedSubmissionTheSame) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const SubmitJobs submission{"ann", "", "r1", {Limited(Hours(2))}};
  const JobId job = c.Do(submission).jobs.at(0);
  UpdateJob update = Update(job);
  update.time_limit = Hours(1);
  ASSERT_TRUE(c.Do(update).status.ok());
  const Reply again = c.Do(submission);
  ASSERT_TRUE(again.status.ok()) << again.status.message();
  EXPECT_THAT(again.jobs, ElementsAre(job));
}

}  // namespace
}  // namespace glim::core
