// What is kept of saves that could not be made.
#include "scheduler/core/lifecycle/save_failure.h"

#include <gtest/gtest.h>

#include <string>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::ScriptedAgent;
using testing::Spec;

class SaveFailureTest : public ::testing::Test {
 protected:
  // What the agent of this node tells of its rank: so many tries in vain since the last good one.
  void Fail(std::uint32_t index, std::int64_t step, std::uint32_t count, const std::string& why = "no space left") {
    c.Edit(job, index,
           [&](ObservedTask& task) { task.ranks[0].save_failure = {.step = step, .why = why, .count = count}; });
  }
  void Save(std::uint32_t index, std::int64_t step, std::uint32_t world) {
    c.Edit(job, index, [&](ObservedTask& task) {
      ScriptedAgent::Save(task.ranks[0], step, world);
      task.ranks[0].save_failure = {};
    });
  }
  const SaveFailure& Kept() const { return c.attempt(job).save_failure; }
  std::string Said() const {
    std::string text;
    for (const HistoryEntry& entry : c.store().history()) {
      if (entry.kind == HistoryKind::kSaveFailed) text = entry.text;
    }
    return text;
  }

  mutable Cluster c;
  const JobId job = c.Running(Spec(2));
};

TEST_F(SaveFailureTest, ItsRowSaysSoUntilASaveIsMade) {
  Save(0, 9, 1);
  EXPECT_EQ(Kept().count, 0u);
  Fail(0, 19, 1);
  EXPECT_EQ(Kept(), (SaveFailure{.step = 19, .why = "no space left", .count = 1}));
  Fail(0, 29, 2, "quota");
  EXPECT_EQ(Kept(), (SaveFailure{.step = 29, .why = "quota", .count = 2}));
  Save(0, 39, 1);
  EXPECT_EQ(Kept().count, 0u);
  EXPECT_EQ(c.attempt(job).durable_step, 39);
}

TEST_F(SaveFailureTest, TheHistoryHasTheFirstOfAnAttemptAndNotEachTry) {
  Fail(0, 19, 1);
  EXPECT_EQ(c.Noted(HistoryKind::kSaveFailed), 1);
  EXPECT_EQ(Said(), "step 19 could not be saved: no space left");
  for (std::uint32_t i = 2; i < 10; ++i) Fail(0, 9 + 10 * i, i);
  for (std::int64_t step = 200; step < 300; step += 10) {  // a program may well say so by turns
    Save(0, step, 1);
    Fail(0, step + 5, 1);
  }
  EXPECT_EQ(Kept().count, 1u);
  EXPECT_EQ(c.Noted(HistoryKind::kSaveFailed), 1);
}

TEST_F(SaveFailureTest, TheNextAttemptHasAnEntryOfItsOwn) {
  Fail(0, 19, 1);
  c.Suspend(job);
  c.EditAll(job, [](ObservedTask& task) { task.ranks[0].leaving = true; });
  for (const std::uint32_t index : {0u, 1u}) c.Exit(job, index, 0);
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).save_failure.count, 1u) << "what ended with a failed save says so";
  c.Resume(job);
  c.Settle();
  ASSERT_EQ(c.job(job).attempts, 2u);
  EXPECT_EQ(Kept().count, 0u);
  Fail(1, -1, 1, "");
  EXPECT_EQ(c.Noted(HistoryKind::kSaveFailed), 2);
  EXPECT_EQ(Said(), "a save could not be made");
}

TEST_F(SaveFailureTest, OfSeveralRanksTheNewestCounts) {
  Fail(0, 19, 1, "rank 0's");
  Fail(1, 29, 4, "rank 1's");
  EXPECT_EQ(Kept().why, "rank 1's");
  Save(1, 39, 2);
  EXPECT_EQ(Kept().why, "rank 0's") << "its part is not made good by another's";
  Save(0, 39, 2);
  EXPECT_EQ(Kept().count, 0u);
}

TEST_F(SaveFailureTest, ANewerSaveOfTheJobMakesItGood) {
  Fail(1, 19, 1);
  Save(0, 9, 1);
  EXPECT_EQ(Kept().count, 1u) << "an older one does not";
  Save(0, 29, 1);
  EXPECT_EQ(Kept().count, 0u) << "though rank 1 has not saved since";
}

TEST_F(SaveFailureTest, OutlivesTheScheduler) {
  Fail(0, 19, 1);
  c.RestartScheduler();
  EXPECT_EQ(Kept().count, 1u);
  EXPECT_EQ(c.Noted(HistoryKind::kSaveFailed), 1);
}

}  // namespace
}  // namespace glim::core
