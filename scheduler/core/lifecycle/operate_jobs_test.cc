// What operators change of jobs that are there: the class, the place, and a user's jobs all at once.
#include "scheduler/core/lifecycle/operate_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Patient;
using testing::Spec;
using testing::Zones;

SetJobPriority Class(JobId job, PriorityClass priority, const std::string& user = "ann") {
  SetJobPriority change;
  change.job = job;
  change.user = user;
  change.priority = priority;
  return change;
}

TEST(SetPriority, CountsFromTheNextPassOn) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const JobId runs = c.Running(Spec(1));
  const JobId waits = c.Submit(Spec(1), "bob");
  const Reply reply = c.Do(Class(waits, PriorityClass::kHigh, "bob"));
  ASSERT_TRUE(reply.status.ok());
  EXPECT_EQ(reply.state, "normal");
  EXPECT_EQ(c.job(waits).priority, PriorityClass::kHigh);
  EXPECT_EQ(c.attempt(waits).charged, PriorityClass::kHigh);
  EXPECT_EQ(c.job(runs).state, JobState::kInterrupting) << "it gives way now";
  EXPECT_EQ(c.Noted(HistoryKind::kJobPriority), 1);
}

TEST(SetPriority, OfARunningJobIsWhatItIsChargedTo) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const JobId job = c.Running(Spec(1));
  c.Submit(Spec(1), "bob");
  ASSERT_TRUE(c.Do(Class(job, PriorityClass::kLow)).status.ok());
  EXPECT_EQ(c.attempt(job, 1).charged, PriorityClass::kLow);
  EXPECT_EQ(c.job(job).state, JobState::kInterrupting) << "the other one is of a higher class now";
}

TEST(SetPriority, IsTheOwnersUpToWhatASubmissionMayAskForAndAnOperatorsAlways) {
  Cluster c(Zones{.nodes = 1}, Patient());
  c.Running(Spec(1));
  const JobId job = c.Submit(Spec(1));
  c.SetQuota("ann", PriorityClass::kHigh, 0);
  EXPECT_EQ(c.Do(Class(job, PriorityClass::kHigh, "bob")).status.reason(), "NOT_YOURS");
  const Reply refused = c.Do(Class(job, PriorityClass::kHigh));
  EXPECT_FALSE(refused.status.ok());
  EXPECT_EQ(c.job(job).priority, PriorityClass::kNormal);
  SetJobPriority by_operator = Class(job, PriorityClass::kHigh, "ora");
  by_operator.by_right = by_operator.unbound = true;
  EXPECT_TRUE(c.Do(by_operator).status.ok());
  EXPECT_EQ(c.job(job).spec->priority, PriorityClass::kHigh);
}

TEST(SetPriority, LeavesARepeatedSubmissionTheSame) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const SubmitJobs submission{"ann", "", "r1", {Spec(1)}};
  const JobId job = c.Do(submission).jobs.at(0);
  c.Do(Class(job, PriorityClass::kHigh));
  const Reply again = c.Do(submission);
  ASSERT_TRUE(again.status.ok()) << again.status.message();
  EXPECT_THAT(again.jobs, ElementsAre(job));
}

TEST(SetPriority, IsRefusedOfAJobThatIsOverAndOnlyTriedInADryRun) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const JobId job = c.Running(Spec(1));
  SetJobPriority dry = Class(job, PriorityClass::kHigh);
  dry.dry_run = true;
  EXPECT_TRUE(c.Do(dry).status.ok());
  EXPECT_EQ(c.job(job).priority, PriorityClass::kNormal);
  c.Finish(job);
  EXPECT_EQ(c.Do(Class(job, PriorityClass::kHigh)).status.reason(), "WRONG_STATE");
}

TEST(AMovedJob, GoesOnWhereItWasNotWhileThatFits) {
  Cluster c(Zones{.nodes = 3}, Patient());
  const JobId job = c.Running(Spec(1));
  const NodeId first = c.attempt(job).nodes[0];
  ASSERT_TRUE(c.Do(MoveJob{job, "ora", "a slow switch"}).status.ok());
  EXPECT_EQ(c.agreement(job).reason, "moved by ora: a slow switch");
  c.Settle();
  ASSERT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_NE(c.attempt(job).nodes[0], first);
  EXPECT_EQ(c.job(job).steps_lost, 0);
  EXPECT_EQ(c.job(job).restarts, 0u);
  const NodeId second = c.attempt(job).nodes[0];
  c.Do(MoveJob{job, "ora", "again"});
  c.Settle();
  EXPECT_NE(c.attempt(job).nodes[0], second) << "what it was moved off before is as good as any again";
}

TEST(AMovedJob, GoesBackWhereNothingElseFits) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const JobId job = c.Running(Spec(1));
  c.Do(MoveJob{job, "ora", "a slow switch"});
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(c.job(job).attempts, 2u);
}

TEST(AMove, IsRefusedOfAJobThatHasNoNodesOrLeavesAlready) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const JobId runs = c.Running(Spec(1));
  const JobId waits = c.Submit(Spec(1));
  EXPECT_EQ(c.Do(MoveJob{waits, "ora", "x"}).status.reason(), "WRONG_STATE");
  MoveJob dry{runs, "ora", "x", true};
  EXPECT_EQ(c.Do(dry).state, "running");
  EXPECT_EQ(c.job(runs).state, JobState::kRunning);
  EXPECT_EQ(c.Do(MoveJob{runs, "ora", "x"}).state, "interrupting");
  EXPECT_EQ(c.Do(MoveJob{runs, "ora", "x"}).status.reason(), "WRONG_STATE");
}

TEST(CancelUser, EndsAllThatTheUserHasAndNothingElse) {
  Cluster c(Zones{.nodes = 2}, Patient());
  const JobId runs = c.Running(Spec(1));
  const JobId others = c.Running(Spec(1), "bob");
  const JobId waits = c.Submit(Spec(1));
  const Reply dry = c.Do(CancelUserJobs{"ann", "ora", "left", false, true});
  EXPECT_THAT(dry.jobs, ElementsAre(runs, waits));
  EXPECT_EQ(c.job(waits).state, JobState::kQueued);
  EXPECT_THAT(c.Do(CancelUserJobs{"ann", "ora", "left"}).jobs, ElementsAre(runs, waits));
  c.Settle();
  EXPECT_EQ(c.job(runs).state, JobState::kCancelled);
  EXPECT_EQ(c.job(runs).message, "cancelled by ora: left");
  EXPECT_EQ(c.job(waits).state, JobState::kCancelled);
  EXPECT_EQ(c.job(others).state, JobState::kRunning);
  EXPECT_THAT(c.Do(CancelUserJobs{"ann", "ora", "left"}).jobs, ElementsAre());
}

TEST(CancelNow, GivesItsProcessesNoTime) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const JobId job = c.Running(Spec(1));
  c.Cancel(job);
  EXPECT_FALSE(c.attempt(job).stop_now);
  EXPECT_TRUE(c.Do(CancelJob{job, "ann", false, "it writes over everything", true}).status.ok())
      << "also of one that is being cancelled";
  EXPECT_TRUE(c.attempt(job).stop_now);
}

TEST(AReason, IsShownWithTheJob) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const JobId job = c.Running(Spec(1));
  c.Do(SuspendJob{job, "ora", true, "the disk is full"});
  EXPECT_EQ(c.agreement(job).reason, "suspended by ora: the disk is full");
  c.Settle();
  EXPECT_EQ(c.job(job).message, "suspended by ora: the disk is full");
  c.Do(CancelJob{job, "ora", true, "and stays so"});
  EXPECT_EQ(c.job(job).message, "cancelled by ora: and stays so");
}

}  // namespace
}  // namespace glim::core
