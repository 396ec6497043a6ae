// A job that is interrupted for months stays small.
#include "scheduler/core/lifecycle/old_attempts.h"

#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

std::size_t AttemptRows(const Cluster& c, JobId job) {
  std::size_t rows = 0;
  c.store().Load().tables().attempts.ForEach([&](const AttemptId& id, const Attempt&) { rows += id.job == job; });
  return rows;
}

std::size_t TaskRows(const Cluster& c) { return c.store().Load().tables().tasks.size(); }

TEST(OldAttempts, OnlyTheNewestFewAreRows) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  for (int i = 0; i < 40; ++i) {
    c.Suspend(job);
    c.Settle();
    c.Resume(job);
    c.Settle();
    ASSERT_EQ(c.job(job).state, JobState::kRunning);
  }
  EXPECT_EQ(c.job(job).attempts, 41u);
  EXPECT_EQ(AttemptRows(c, job), kAttemptsKept + 1);
  EXPECT_EQ(TaskRows(c), 2u) << "those of the attempt that lives";
  EXPECT_EQ(c.job(job).earlier.count, 41 - 1 - kAttemptsKept);
  EXPECT_TRUE(c.job(job).earlier.ran);
  EXPECT_EQ(c.Noted(HistoryKind::kAttemptEnded), 40) << "the history has them all";
  c.RestartScheduler();
  EXPECT_EQ(c.job(job).earlier.count, 41 - 1 - kAttemptsKept);
}

std::vector<EndedTasks> EndedOf(Cluster& c, JobId job, std::uint32_t attempt) {
  return c.attempt(job, attempt).ended_tasks;
}

TEST(OldAttempts, HowTheirTasksEndedStaysReadable) {
  Cluster c(Zones{.nodes = 3});
  const JobId job = c.Running(SpecWith(3, [](JobSpec& s) { s.interrupt_mode = InterruptMode::kSignal; }));
  c.Suspend(job);
  c.Edit(job, 1, [](ObservedTask& task) { task.message = "left by itself"; });
  c.Exit(job, 0, 0);
  c.Exit(job, 1, 3);
  c.Exit(job, 2, 0);
  EXPECT_TRUE(EndedOf(c, job, 1).empty()) << "its tasks are rows yet";
  c.Resume(job);
  c.Settle();
  ASSERT_EQ(c.job(job).attempts, 2u);
  const std::vector<EndedTasks> expected = {{1, 0, -1, ""}, {1, 3, -1, "left by itself"}, {1, 0, -1, ""}};
  EXPECT_EQ(EndedOf(c, job, 1), expected);
  c.RestartScheduler();
  EXPECT_EQ(EndedOf(c, job, 1), expected);
}

TEST(OldAttempts, TasksThatEndedAlikeAreOneRun) {
  Cluster c(Zones{.nodes = 8});
  const JobId job = c.Running(Spec(8));
  c.Suspend(job);
  c.Settle();
  c.Resume(job);
  c.Settle();
  ASSERT_EQ(EndedOf(c, job, 1).size(), 1u);
  EXPECT_EQ(EndedOf(c, job, 1)[0].count, 8u);
}

TEST(OldAttempts, WhatTheyHadAddsUpInTheJob) {
  Cluster c;
  c.policy().finished_jobs_kept = 10;
  const JobId job = c.Submit(Spec(2));
  const TimePoint first = c.now();
  c.Settle();
  Duration waited;
  for (std::uint32_t i = 1; i <= kAttemptsKept + 3; ++i) {
    c.Suspend(job);
    c.Settle();
    const JobId other = c.Submit(Spec(2), "bob");
    c.Settle();
    c.Resume(job);
    c.Advance(Minutes(i));
    c.Finish(other);
    c.Settle();
    if (i < 3) waited = waited + (c.attempt(job).started_at - c.attempt(job).queued_at);
  }
  EXPECT_EQ(c.job(job).earlier.count, 3u);
  EXPECT_EQ(c.job(job).earlier.started_at, first);
  EXPECT_EQ(c.job(job).earlier.waited, waited) << "of the second and the third; the first did not wait";
  EXPECT_GT(waited.ms, 0);
}

}  // namespace
}  // namespace glim::core
