// Whom to interrupt, and what it would cost them.
#include "scheduler/core/planning/victims.h"

#include <gtest/gtest.h>

#include "scheduler/core/testing/specs.h"

namespace glim::core {
namespace {

using testing::AttemptRow;
using testing::JobRow;
using testing::Labels;
using testing::NodeRow;
using testing::SpecWith;

constexpr TimePoint kHeldSince{1'000'000};

// Job 1 holds two nodes of eight and four GPUs since kHeldSince.
struct Holder {
  Holder() {
    state.Put(NodeRow(1, Labels("z1", "l1", 8)));
    state.Put(NodeRow(2, Labels("z1", "l1", 4)));
    job = JobRow(1);
    job.attempts = 1;
    attempt = AttemptRow({JobId(1), 1}, AttemptState::kRunning, {NodeId(1), NodeId(2)});
    attempt.started_at = kHeldSince;
  }
  std::int64_t PreemptionCostAfter(Duration age) {
    state.Put(job);
    return PreemptionCostOf(state, policy, attempt, kHeldSince + age);
  }
  ClusterState state;
  Policy policy;
  Job job;
  Attempt attempt;
};

TEST(PreemptionCost, OfAnUnknownJobIsGuessed) {
  // 12 GPUs x (0.8 x 500 ms + 0.2 x 10 s + 500 ms)
  EXPECT_EQ(Holder().PreemptionCostAfter(Seconds(10)), 12 * (400 + 2'000 + 500));
}

TEST(PreemptionCost, UsesWhatTheJobHasShown) {
  Holder h;
  h.job.save_cost = Seconds(4);
  h.job.restore_cost = Seconds(6);
  h.job.saves_asked = 4;
  h.job.saves_done = 3;
  // p = 3/4: 12 x (0.75 x 4 s + 0.25 x 100 s + 6 s)
  EXPECT_EQ(h.PreemptionCostAfter(Seconds(100)), 12 * (3'000 + 25'000 + 6'000));
  h.job.saves_done = 0;
  EXPECT_EQ(h.PreemptionCostAfter(Seconds(100)), 12 * (100'000 + 6'000));
  h.job.saves_done = 4;
  EXPECT_EQ(h.PreemptionCostAfter(Seconds(100)), 12 * (4'000 + 6'000));
}

TEST(PreemptionCost, AgeCountsFromTheLastDurableSave) {
  Holder h;
  h.job.saves_asked = 1;  // never saves when asked
  h.attempt.durable_at = kHeldSince + Seconds(90);
  EXPECT_EQ(h.PreemptionCostAfter(Seconds(100)), 12 * (10'000 + 500));
}

TEST(PreemptionCost, NeverSavingGivesNoShelter) {
  Holder h;
  h.job.saves_asked = 1;
  const std::int64_t capped = 12 * (h.policy.median_checkpoint_interval.ms + 500);
  EXPECT_EQ(h.PreemptionCostAfter(Minutes(5)), capped);
  EXPECT_EQ(h.PreemptionCostAfter(Hours(100)), capped);
}

// The successor's nodes wait for the whole of it.
TEST(PreemptionCost, HasTheGraceThatTheJobIsKnownToUse) {
  Holder h;
  h.job.saves_asked = h.job.saves_done = h.job.leaves = 1;
  h.job.save_cost = Seconds(4);
  h.job.leave_time = Minutes(3);
  EXPECT_EQ(h.PreemptionCostAfter(Seconds(10)), 12 * (180'000 + 500));
  h.job.leave_time = Seconds(2);
  EXPECT_EQ(h.PreemptionCostAfter(Seconds(10)), 12 * (4'000 + 500)) << "no less than its save";
}

TEST(PreemptionCost, HasTheCostOfStartingAgain) {
  Holder h;
  h.job.saves_asked = h.job.saves_done = 1;
  h.job.save_cost = Milliseconds(500);
  h.attempt.running_at = kHeldSince + Seconds(40);
  EXPECT_EQ(h.PreemptionCostAfter(Seconds(100)), 12 * (500 + 40'000 + 500));
}

// The job itself says how long its restores take.
TEST(PreemptionCost, ARestoreSheltersNoMoreThanThePolicySays) {
  Holder h;
  h.job.saves_asked = h.job.saves_done = 1;
  h.job.save_cost = Milliseconds(500);
  h.job.restore_cost = Hours(24);
  EXPECT_EQ(h.PreemptionCostAfter(Seconds(10)), 12 * (500 + h.policy.min_run_max.ms));
}

// Jobs 2 and 3 of the pool have shown what job 1 has not.
TEST(PreemptionCost, WhatAJobHasNotShownIsThePoolsMean) {
  Holder h;
  Job other = JobRow(2);
  other.saves_asked = 4;
  other.saves_done = 2;
  other.save_cost = Seconds(6);
  h.state.Put(other);
  other = JobRow(3);
  other.saves_asked = other.saves_done = 2;
  other.save_cost = Seconds(2);
  h.state.Put(other);
  other = JobRow(4, SpecWith(1, [](JobSpec& s) { s.pool = "another"; }));
  other.saves_asked = 100;
  h.state.Put(other);
  // p = 4/6, a save takes 4 s: 12 x (0.666 x 4 s + 0.334 x 100 s + 500 ms)
  EXPECT_EQ(h.PreemptionCostAfter(Seconds(100)), 12 * (2'664 + 33'400 + 500));
}

TEST(PreemptionCost, TheCapOfAgeIsThePoolsMeanInterval) {
  Holder h;
  h.job.saves_asked = 1;  // never saves when asked
  for (std::uint64_t id = 2; id <= 3; ++id) {
    Job other = JobRow(id);
    other.attempts = 1;
    h.state.Put(other);
    Attempt saving = AttemptRow({JobId(id), 1}, AttemptState::kRunning, {NodeId(1)});
    saving.save_interval = Seconds(id == 2 ? 30 : 50);
    h.state.Put(saving);
  }
  EXPECT_EQ(h.PreemptionCostAfter(Hours(1)), 12 * (40'000 + 500));
  EXPECT_EQ(h.state.index(), h.state.RebuildIndex());
}

TEST(ProtectedUntilRule, TenTimesSaveAndRestore) {
  Holder h;
  h.state.Put(h.job);
  EXPECT_EQ(ProtectedUntil(h.state, h.policy, h.attempt), kHeldSince + Seconds(10));
  h.job.save_cost = Seconds(30);
  h.job.restore_cost = Seconds(12);
  h.state.Put(h.job);
  EXPECT_EQ(ProtectedUntil(h.state, h.policy, h.attempt), kHeldSince + Seconds(420));
  EXPECT_EQ(ProtectedUntil(h.state, h.policy, h.attempt, true), kHeldSince + Seconds(10)) << "it is borrowed";
  h.policy.min_run_factor = 0;
  EXPECT_EQ(ProtectedUntil(h.state, h.policy, h.attempt), kHeldSince);
}

TEST(SaveDueRule, IsWaitedForWhereItIsNearAndNearerThanTheLastOne) {
  Holder h;
  h.job.saves_asked = 4;  // and never saves when asked
  h.state.Put(h.job);
  h.attempt.durable_at = kHeldSince + Minutes(10);
  const auto due = [&](Duration interval, Duration since) {
    h.attempt.save_interval = interval;
    return SaveDue(h.state, h.policy, h.attempt, h.attempt.durable_at + since);
  };
  EXPECT_EQ(due(Minutes(1), Seconds(40)), h.attempt.durable_at + Minutes(1));
  EXPECT_EQ(due(Minutes(1), Seconds(29)), TimePoint{}) << "not within save_wait_max";
  EXPECT_EQ(due(Minutes(1), Seconds(61)), TimePoint{}) << "it is late";
  EXPECT_EQ(due(Seconds(20), Seconds(11)), h.attempt.durable_at + Seconds(20));
  EXPECT_EQ(due(Seconds(20), Seconds(10)), TimePoint{}) << "there is little to lose";
  EXPECT_EQ(due(Seconds(20), Seconds(0)), TimePoint{});
}

VictimOption Option(std::uint64_t job, PriorityClass charged, bool borrowed, std::int64_t preemption_cost,
                    std::uint32_t nodes) {
  return {{JobId(job), 1}, charged, borrowed, preemption_cost, nodes};
}

struct VictimRow {
  const char* what;
  std::vector<VictimOption> options;
  std::uint32_t nodes;
  std::vector<std::uint64_t> victims;
  std::int64_t preemption_cost;
};

constexpr auto kLowClass = PriorityClass::kLow;
constexpr auto kNormalClass = PriorityClass::kNormal;

TEST(ChooseVictims, LowestClassThenBorrowedThenLeastCostThenId) {
  const VictimRow kRows[] = {
      {"the lower class, whatever it costs",
       {Option(1, kNormalClass, false, 1, 2), Option(2, kLowClass, false, 900, 2)},
       2,
       {2},
       900},
      {"borrowed before owned", {Option(1, kLowClass, false, 1, 2), Option(2, kLowClass, true, 50, 2)}, 2, {2}, 50},
      {"a lower class before a borrowed one",
       {Option(1, kNormalClass, true, 1, 2), Option(2, kLowClass, false, 50, 2)},
       2,
       {2},
       50},
      {"the least preemption cost",
       {Option(1, kLowClass, false, 60, 2), Option(2, kLowClass, false, 50, 2)},
       2,
       {2},
       50},
      {"the first of equals", {Option(9, kLowClass, false, 50, 2), Option(4, kLowClass, false, 50, 2)}, 2, {4}, 50},
      {"as many as it takes",
       {Option(1, kLowClass, false, 5, 1), Option(2, kLowClass, false, 6, 1), Option(3, kLowClass, false, 7, 1)},
       2,
       {1, 2},
       11},
      {"small ones that a large one makes needless are spared",
       {Option(1, kLowClass, false, 5, 1), Option(2, kLowClass, false, 6, 1), Option(3, kLowClass, false, 7, 4)},
       4,
       {3},
       7},
      {"the dearest of the needless first",
       {Option(1, kLowClass, false, 5, 1), Option(2, kLowClass, false, 6, 1), Option(3, kLowClass, false, 7, 3)},
       4,
       {1, 3},
       12},
      {"a higher class only for what is missing",
       {Option(1, kLowClass, false, 5, 1), Option(2, kNormalClass, false, 1, 2)},
       3,
       {1, 2},
       6},
  };
  for (const VictimRow& row : kRows) {
    SCOPED_TRACE(row.what);
    const auto choice = ChooseVictims(row.options, row.nodes);
    ASSERT_TRUE(choice.has_value());
    std::vector<std::uint64_t> victims;
    for (const AttemptId id : choice->victims) victims.push_back(id.job.value);
    EXPECT_EQ(victims, row.victims);
    EXPECT_EQ(choice->preemption_cost_gpu_ms, row.preemption_cost);
  }
}

TEST(ChooseVictims, AllOrNone) {
  EXPECT_FALSE(ChooseVictims({}, 1).has_value());
  EXPECT_FALSE(ChooseVictims({Option(1, kLowClass, false, 1, 3)}, 4).has_value());
}

TEST(ChooseVictims, SaysWhichClassIsHit) {
  EXPECT_EQ(ChooseVictims({Option(1, kLowClass, false, 5, 1), Option(2, kNormalClass, false, 1, 2)}, 3)->highest,
            kNormalClass);
  EXPECT_EQ(ChooseVictims({Option(1, kLowClass, false, 5, 1), Option(2, kNormalClass, false, 1, 2)}, 1)->highest,
            kLowClass);
}

}  // namespace
}  // namespace glim::core
