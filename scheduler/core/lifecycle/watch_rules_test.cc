// What goes on from a save is judged, too, when it should have had it long ago.
#include "scheduler/core/lifecycle/watch_rules.h"

#include <gtest/gtest.h>

#include "scheduler/core/lifecycle/stall_evidence.h"
#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::SpecWith;
using testing::Zones;

// A job whose second attempt runs, on two nodes of four, and goes on from step 9; by output alone nobody hears of it.
class RestoringTest : public ::testing::Test {
 protected:
  RestoringTest() {
    job = c.Running(SpecWith(2, [](JobSpec& spec) {
      spec.no_progress = Minutes(10);
      spec.restart_on = {"node_failure", "hang"};
    }));
    c.Save(job, 9);
    Again();
  }
  void Again() {
    c.Suspend(job);
    c.Settle();
    c.Resume(job);
    c.Settle();
    ASSERT_EQ(c.job(job).state, JobState::kRunning);
    ASSERT_GE(c.attempt(job).base.step, 9);
    c.EditAll(job, [this](ObservedTask& task) { task.activity_at = c.now(); });
  }
  bool StandsStill() const { return static_cast<bool>(c.attempt(job).stalled_since); }

  Cluster c{Zones{1, 1, 4}};
  JobId job;
};

TEST_F(RestoringTest, WhoHangsBeforeItHasItsSaveIsNoticed) {
  c.Advance(Minutes(30) - Milliseconds(1));
  EXPECT_FALSE(StandsStill());
  c.Advance(Milliseconds(1));
  EXPECT_TRUE(StandsStill());
  c.Advance(kEvidenceWait);
  EXPECT_EQ(c.attempt(job, 2).stop, StopCause::kHang);
}

TEST_F(RestoringTest, WhoseRestoresTakeLongHasFiveTimesAsLong) {
  c.Advance(Minutes(20));
  c.EditAll(job, [](ObservedTask& task) {
    task.ranks[0].restored_step = 9;
    task.ranks[0].restore_time = Minutes(20);
  });
  c.Step(job, 12);
  EXPECT_EQ(c.job(job).longest_gap, Duration{}) << "a restore is no measure of what comes after it";
  Again();
  c.Advance(Minutes(100) - Milliseconds(1));
  EXPECT_FALSE(StandsStill());
  c.Advance(Milliseconds(1));
  EXPECT_TRUE(StandsStill());
}

TEST_F(RestoringTest, WhoSaysThatItHasItsSaveIsJudgedFromThenOn) {
  c.Advance(Minutes(5));
  c.EditAll(job, [](ObservedTask& task) { task.ranks[0].restored_step = 9; });
  c.Advance(Minutes(10) - Milliseconds(1));
  EXPECT_FALSE(StandsStill());
  c.Advance(Milliseconds(1));
  EXPECT_TRUE(StandsStill());
}

TEST_F(RestoringTest, OutputIsASignThere) {
  for (int i = 0; i < 9; ++i) {
    c.Advance(Minutes(9));
    c.Edit(job, 0, [this](ObservedTask& task) { task.activity_at = c.now(); });
  }
  EXPECT_FALSE(StandsStill());
}

TEST_F(RestoringTest, IdleGpusAreToldThere) {
  c.policy().health.idle_gpus = {.warn_after = Hours(1), .suspend_after = {}};
  const TimePoint seen = c.now();
  c.EditAll(job, [&](ObservedTask& task) { task.gpu_busy_at = seen; });
  for (int i = 0; i < 11; ++i) {
    c.Advance(Minutes(9));
    c.Edit(job, 0, [this](ObservedTask& task) { task.activity_at = c.now(); });
  }
  EXPECT_TRUE(c.attempt(job).gpus_idle_since);
}

}  // namespace
}  // namespace glim::core
