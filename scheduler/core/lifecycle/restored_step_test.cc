// A program that finds its save damaged goes on from an older one by itself, and says so.
#include "scheduler/core/lifecycle/restored_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::Spec;
using testing::Zones;

// A job of two ranks whose newest save, that of step 5000, was damaged after it was made; its second attempt runs.
struct Damaged {
  explicit Damaged(bool saved_before = false) {
    c.policy().health.lemons.cordon_times = 0;
    job = c.Running(Spec(2));
    if (saved_before) c.Save(job, 4'000);
    c.Save(job, 5'000);
    Lose();
  }
  void Say(std::uint32_t index, std::int64_t step) {
    c.Edit(job, index, [&](ObservedTask& task) { task.ranks[0].restored_step = step; });
  }
  void SayAll(std::int64_t step) {
    for (const std::uint32_t index : {0u, 1u}) Say(index, step);
  }
  void Lose() {
    c.Edit(job, 0, [](ObservedTask& task) {
      task.lost = true;
      task.phase = TaskPhase::kReleased;
    });
    c.Settle();
    if (c.job(job).not_before) c.Advance(c.job(job).not_before - c.now());
    c.Settle();
    EXPECT_EQ(c.job(job).state, JobState::kRunning);
  }
  Cluster c{Zones{.nodes = 4}, testing::Patient()};
  JobId job;
};

TEST(RestoredStep, WhatLiesBetweenItAndTheSaveIsLost) {
  Damaged d;
  ASSERT_EQ(d.c.attempt(d.job).base.step, 5'000);
  d.SayAll(4'000);
  EXPECT_EQ(d.c.attempt(d.job).base.step, 4'000);
  EXPECT_EQ(d.c.job(d.job).steps_lost, 1'000);
  EXPECT_EQ(d.c.Noted(HistoryKind::kSaveGivenUp), 1);
  EXPECT_THAT(d.c.job(d.job).message,
              HasSubstr("did not go on from the save of step 5000 but from step 4000: 1000 steps lost"));
  d.c.Step(d.job, 4'500);
  d.Lose();
  EXPECT_EQ(d.c.attempt(d.job, 2).steps_lost, 500);
  EXPECT_EQ(d.c.job(d.job).steps_lost, 1'500);
}

TEST(RestoredStep, IsBelievedOfAnAttemptThatIsStopped) {
  Damaged d;
  d.c.Edit(d.job, 1, [](ObservedTask& task) {
    task.lost = true;
    task.phase = TaskPhase::kReleased;
  });
  ASSERT_EQ(d.c.attempt(d.job).state, AttemptState::kStopping);
  d.c.Edit(d.job, 0, [](ObservedTask& task) {
    task.ranks[0].restored_step = 4'000;
    task.ranks[0].step = 4'010;
  });
  d.c.Settle();
  EXPECT_EQ(d.c.attempt(d.job, 2).steps_lost, 10);
  EXPECT_EQ(d.c.job(d.job).steps_lost, 1'010);
}

TEST(RestoredStep, TheNextSaveIsTheJobsNewestThoughItIsBelowTheDamagedOne) {
  Damaged d;
  d.SayAll(4'000);
  EXPECT_EQ(d.c.job(d.job).durable.step, 5'000) << "no other one is known yet";
  d.c.Save(d.job, 4'200);
  EXPECT_EQ(d.c.job(d.job).durable.step, 4'200);
  EXPECT_TRUE(d.c.job(d.job).older.empty()) << "what is damaged is no way back";
  d.c.Step(d.job, 4'210);
  d.Lose();
  EXPECT_EQ(d.c.attempt(d.job, 2).steps_lost, 10);
  EXPECT_EQ(d.c.attempt(d.job).base.step, 4'200);
}

TEST(RestoredStep, AnOlderSaveThatIsKnownIsTheJobsNewestAgain) {
  Damaged d(true);
  ASSERT_EQ(d.c.job(d.job).older.size(), 1u);
  d.SayAll(4'000);
  EXPECT_EQ(d.c.job(d.job).durable.step, 4'000);
  EXPECT_EQ(d.c.job(d.job).durable.path, "/ckpt/4000");
  EXPECT_TRUE(d.c.job(d.job).older.empty());
  EXPECT_EQ(d.c.job(d.job).steps_lost, 1'000);
}

TEST(RestoredStep, WhatIsLostIsLostOnce) {
  Damaged d;
  for (int attempts = 0; attempts < 3; ++attempts) {
    ASSERT_EQ(d.c.attempt(d.job).base.step, 5'000);
    d.SayAll(4'000);
    d.Lose();
  }
  EXPECT_EQ(d.c.job(d.job).steps_lost, 1'000);
  d.SayAll(3'000);
  EXPECT_EQ(d.c.job(d.job).steps_lost, 2'000);
}

// The ranks of a gang say it one after the other, and some programs say it in one rank alone.
TEST(RestoredStep, IsBelievedWhenAllHaveSaidItOrTheAttemptMovesOn) {
  Damaged d;
  d.Say(0, 4'000);
  EXPECT_EQ(d.c.attempt(d.job).base.step, 5'000) << "the other rank may have more";
  d.Say(1, 5'000);
  EXPECT_EQ(d.c.attempt(d.job).base.step, 5'000);
  Damaged alone;
  alone.Say(0, 4'000);
  alone.c.Step(alone.job, 4'001);
  EXPECT_EQ(alone.c.attempt(alone.job).base.step, 4'000);
  EXPECT_EQ(alone.c.job(alone.job).steps_lost, 1'000);
}

TEST(RestoredStep, OfTheSaveItselfLosesNothing) {
  Damaged d;
  d.SayAll(5'000);
  d.c.Step(d.job, 5'010);
  EXPECT_EQ(d.c.job(d.job).steps_lost, 0);
  EXPECT_EQ(d.c.Noted(HistoryKind::kSaveGivenUp), 0);
}

}  // namespace
}  // namespace glim::core
