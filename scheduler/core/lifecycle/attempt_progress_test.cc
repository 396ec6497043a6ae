// Steps, restores and saves: a save is durable when every shard's owner has reported its shard.
#include "scheduler/core/lifecycle/attempt_progress.h"

#include <gtest/gtest.h>

#include <limits>

#include "scheduler/core/planning/victims.h"
#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;

struct Reported {
  std::int64_t step;
  std::uint32_t shard;
  std::uint32_t shards;
};

Task TaskWith(const std::vector<Reported>& saves) {
  Task task;
  Rank& rank = task.ranks.emplace_back();
  for (const Reported& save : saves) {
    SavedShard shard;
    shard.step = save.step;
    shard.shard = save.shard;
    shard.shards = save.shards;
    shard.bytes = 10;
    shard.path = "/ckpt/" + std::to_string(save.step) + "/" + std::to_string(save.shard);
    rank.saves.push_back(shard);
  }
  return task;
}

TEST(NewestDurable, NeedsEveryShard) {
  struct Row {
    const char* what;
    std::vector<Reported> rank0, rank1;
    std::int64_t durable;  // -1: none
    std::int64_t bytes;
  };
  const Row kRows[] = {
      {"nothing saved", {}, {}, -1, 0},
      {"one shard, saved by its one owner", {{5, 0, 1}}, {}, 5, 10},
      {"one of two shards", {{5, 0, 2}}, {}, -1, 0},
      {"both shards", {{5, 0, 2}}, {{5, 1, 2}}, 5, 20},
      {"the same shard twice", {{5, 0, 2}}, {{5, 0, 2}}, -1, 0},
      {"the newer one is not complete, the older one is", {{5, 0, 2}, {9, 0, 2}}, {{5, 1, 2}}, 5, 20},
      {"the newest of two complete ones", {{5, 0, 2}, {9, 0, 2}}, {{5, 1, 2}, {9, 1, 2}}, 9, 20},
      {"the newest, though reported out of order", {{9, 0, 2}, {5, 0, 2}}, {{5, 1, 2}, {9, 1, 2}}, 9, 20},
      {"shards of different steps do not make a save", {{5, 0, 2}}, {{6, 1, 2}}, -1, 0},
      {"who disagree on the number of shards wait for the larger", {{5, 0, 1}}, {{5, 1, 3}}, -1, 0},
      {"a shard that was saved again counts once", {{5, 0, 2}, {5, 0, 2}}, {{5, 1, 2}}, 5, 20},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.what);
    const Task a = TaskWith(row.rank0), b = TaskWith(row.rank1);
    const auto durable = NewestDurable({&a, &b});
    ASSERT_EQ(durable.has_value(), row.durable >= 0);
    if (!durable) continue;
    EXPECT_EQ(durable->step, row.durable);
    EXPECT_EQ(durable->bytes, row.bytes);
    EXPECT_EQ(durable->path, "/ckpt/" + std::to_string(row.durable) + "/0") << "the path is shard 0's";
  }
}

TEST(NewestDurable, HasNoMoreBytesThanSumsCanBear) {
  Task a = TaskWith({{5, 0, 3}, {5, 1, 3}, {5, 2, 3}});
  for (SavedShard& shard : a.ranks[0].saves) shard.bytes = std::numeric_limits<std::int64_t>::max();
  const auto durable = NewestDurable({&a});
  ASSERT_TRUE(durable.has_value());
  EXPECT_EQ(durable->bytes, std::int64_t{1} << 50);
}

void SaveShard(Cluster& c, JobId job, std::uint32_t index, std::int64_t step) {
  c.Edit(job, index, [&](ObservedTask& task) { testing::ScriptedAgent::Save(task.ranks[0], step, 2); });
}

TEST(Progress, AJobsDurableSaveIsTheNewestOfAllAttempts) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  SaveShard(c, job, 0, 10);
  EXPECT_EQ(c.job(job).durable.step, -1);
  SaveShard(c, job, 1, 10);
  EXPECT_EQ(c.job(job).durable.step, 10);
  EXPECT_EQ(c.job(job).durable.path, "/ckpt/10");
  EXPECT_EQ(c.job(job).durable.attempt, 1u);
  EXPECT_EQ(c.job(job).durable.at, c.now());
  EXPECT_EQ(c.attempt(job).durable_step, 10);
  SaveShard(c, job, 0, 5);
  SaveShard(c, job, 1, 5);
  EXPECT_EQ(c.job(job).durable.step, 10) << "an older save does not replace it";
}

TEST(Progress, OnlyASaveThatContainsTheAgreedStepAnswersTheInterrupt) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Step(job, 40);
  c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  c.Ack(job, 0, 50);
  c.Ack(job, 1, 50);
  c.Advance(Seconds(1));
  SaveShard(c, job, 0, 45);
  SaveShard(c, job, 1, 45);
  EXPECT_EQ(c.job(job).durable.step, 45);
  EXPECT_FALSE(c.agreement(job).saved_at);
  c.Advance(Seconds(2));
  SaveShard(c, job, 0, 50);
  SaveShard(c, job, 1, 50);
  EXPECT_EQ(c.agreement(job).saved_at, c.now());
  EXPECT_EQ(c.job(job).saves_done, 1u);
  EXPECT_EQ(c.job(job).save_cost, Seconds(3)) << "measured from the agreement";
}

TEST(Progress, APeriodicSaveBeforeTheAgreementDoesNotAnswerTheInterrupt) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Step(job, 40);
  const JobId urgent = c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  SaveShard(c, job, 0, 40);
  SaveShard(c, job, 1, 40);
  EXPECT_EQ(c.job(job).durable.step, 40);
  EXPECT_FALSE(c.agreement(job).saved_at) << "it has not been told where to stop";
  c.Cancel(urgent, "bob");
  EXPECT_LE(c.job(job).saves_done, c.job(job).saves_asked);
  c.Advance(Minutes(5));
  c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  c.Settle();
  EXPECT_LE(c.job(job).saves_done, c.job(job).saves_asked) << "no better than always";
}

TEST(Progress, WithoutAnAgreementAnySaveAfterTheRequestAnswers) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Step(job, 40);
  c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  c.Advance(Seconds(10));
  ASSERT_EQ(c.agreement(job).state, AgreementState::kNoAgreement);
  SaveShard(c, job, 0, 41);
  SaveShard(c, job, 1, 41);
  EXPECT_EQ(c.agreement(job).saved_at, c.now());
}

TEST(Progress, RestoresAreMeasured) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Edit(job, 1, [](ObservedTask& task) {
    task.ranks[0].restored_step = 10;
    task.ranks[0].restore_time = Seconds(7);
  });
  EXPECT_EQ(c.job(job).restore_cost, Seconds(7));
}

void SayRestored(Cluster& c, JobId job, std::int64_t step, Duration took) {
  c.EditAll(job, [&](ObservedTask& task) {
    for (Rank& rank : task.ranks) {
      rank.restored_step = step;
      rank.restore_time = took;
    }
  });
}

TEST(Progress, ARestoreTookNoLongerThanTheSchedulerHasSeenTheAttempt) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  const Duration seen = c.now() - c.attempt(job).started_at;
  SayRestored(c, job, 0, Hours(24));
  EXPECT_EQ(c.job(job).restore_cost, seen);
  c.Step(job, 1);
  c.Advance(Hours(3));
  SayRestored(c, job, 0, Hours(23));
  c.Save(job, 2);
  EXPECT_EQ(c.job(job).restore_cost, seen) << "it has gone on since";
}

TEST(Progress, StepsAndSavesNeverGoBackWithinAnAttempt) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Step(job, 20);
  c.Edit(job, 0, [](ObservedTask& task) {
    task.ranks[0].step = 3;
    task.ranks[0].finished = false;
  });
  EXPECT_EQ(c.attempt(job).last_step, 20);
  EXPECT_EQ(c.task(job, 0).ranks[0].step, 20);
}

TEST(Progress, OnlyTheNewestFewSavesOfARankAreKept) {
  Cluster c;
  const JobId job = c.Running(Spec(1));
  for (int step = 1; step <= 20; ++step) {
    c.Edit(job, 0, [&](ObservedTask& task) { testing::ScriptedAgent::Save(task.ranks[0], step, 1); });
  }
  EXPECT_EQ(c.task(job, 0).ranks[0].saves.size(), 8u);
  EXPECT_EQ(c.job(job).durable.step, 20);
}

// Ten thousand nodes whose jobs step every second must not be ten thousand rows a second.
TEST(Progress, StepsAloneAreShownAtOnceAndStoredOnceAMinute) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Step(job, 1);  // the first step ends a restore, and is stored
  std::size_t rows = 0;
  for (std::int64_t step = 2; step <= 181; ++step) {
    c.SetNow(c.now() + Seconds(1));
    c.Edit(job, 0, [&](ObservedTask& task) {
      task.ranks[0].step = step;
      task.ranks[0].step_time = Milliseconds(1000 + step);
    });
    rows += c.last_drive().mutations;
    EXPECT_EQ(c.attempt(job).last_step, step);
    EXPECT_EQ(c.task(job, 0).ranks[0].step, step);
  }
  EXPECT_LE(rows, 4u) << "one row an attempt a minute";
  EXPECT_GE(rows, 2u);
  c.RestartScheduler();
  EXPECT_GE(c.attempt(job).last_step, 181 - 61) << "a new leader knows it to a minute";
}

TEST(Progress, WhatMustLastIsStoredAtOnceWithTheStep) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.EditAll(job, [](ObservedTask& task) { task.ranks[0].step = 7; });
  c.Save(job, 9);
  c.EditAll(job, [](ObservedTask& task) { task.ranks[0].step = 12; });
  c.Edit(job, 0, [](ObservedTask& task) {
    task.ranks[0].exited = true;
    task.ranks[0].step = 13;
  });
  c.RestartScheduler();
  EXPECT_EQ(c.job(job).durable.step, 9);
  EXPECT_EQ(c.attempt(job).durable_step, 9);
  EXPECT_TRUE(c.task(job, 0).ranks[0].exited);
  EXPECT_EQ(c.task(job, 0).ranks[0].step, 13) << "it went with the exit";
}

TEST(Progress, ASaveIsCompleteWhoeverHeardItsFirstShards) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  SaveShard(c, job, 0, 10);
  c.RestartScheduler();
  c.Settle();
  SaveShard(c, job, 1, 10);
  EXPECT_EQ(c.job(job).durable.step, 10);
  EXPECT_EQ(c.state().shards_seen.count(c.attempt(job).id), 1u);
  EXPECT_TRUE(c.state().shards_seen.at(c.attempt(job).id).by_step.empty()) << "what is durable is not looked at again";
  c.Finish(job);
  EXPECT_TRUE(c.state().shards_seen.empty());
}

}  // namespace
}  // namespace glim::core
