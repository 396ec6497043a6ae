// Jobs that hold GPUs which nobody uses: their users are warned, and by policy they are suspended. No false alarm.
#include "scheduler/core/lifecycle/idle_gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

class IdleGpusTest : public ::testing::Test {
 protected:
  IdleGpusTest() { Policy(Hours(1), Minutes(30)); }

  void Policy(Duration warn_after, Duration suspend_after) {
    c.policy().health.idle_gpus = {.warn_after = warn_after, .suspend_after = suspend_after};
  }
  // Two nodes of 8 GPUs, all watched by their agents.
  JobId Start() {
    const JobId job = c.Submit(Spec(2));
    c.Settle();
    Watch(job);
    return job;
  }
  // Its agents tell the task's start, by clocks of their own.
  void Watch(JobId job) {
    c.EditAll(job, [](ObservedTask& task) { task.gpu_busy_at = kStart; });
  }
  void Busy(JobId job, std::uint32_t index = 0) {
    busy_ = busy_ + Minutes(1);
    c.Edit(job, index, [this](ObservedTask& task) { task.gpu_busy_at = busy_; });
  }
  bool IsIdle(JobId job) const { return static_cast<bool>(c.attempt(job).gpus_idle_since); }
  // The newest note of this kind.
  std::string Said(HistoryKind kind) const {
    std::string text;
    for (const HistoryEntry& entry : c.store().history()) {
      if (entry.kind == kind) text = entry.text;
    }
    return text;
  }

  static constexpr TimePoint kStart{5'000};
  TimePoint busy_ = kStart;
  mutable Cluster c{Zones{1, 1, 4}};
};

TEST_F(IdleGpusTest, AfterAnHourWithoutABusyGpuItsUserIsWarned) {
  const JobId job = Start();
  const TimePoint since = c.now();
  c.Advance(Hours(1) - Milliseconds(1));
  EXPECT_FALSE(IsIdle(job));
  c.Advance(Milliseconds(1));
  EXPECT_EQ(c.attempt(job).gpus_idle_since, since);
  EXPECT_EQ(c.Noted(HistoryKind::kAttemptGpusIdle), 1);
  EXPECT_EQ(Said(HistoryKind::kAttemptGpusIdle),
            "none of its 16 GPUs was busy for 1 h; by policy it is suspended in 30 min, or give them back: "
            "glim suspend 1");
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
}

TEST_F(IdleGpusTest, SoLongAfterTheWarningItIsSuspendedAndHeldWithItsSave) {
  const JobId job = Start();
  c.Save(job, 9);
  c.Advance(Hours(1) + Minutes(30) - Milliseconds(1));
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  c.Advance(Milliseconds(1));
  EXPECT_EQ(c.job(job).state, JobState::kSuspending);
  EXPECT_TRUE(c.agreement(job).suspend);
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kHeld);
  EXPECT_EQ(c.job(job).message,
            "suspended by policy: none of its 16 GPUs was busy for 1 h 30 min; to go on: glim resume 1");
  EXPECT_EQ(c.attempt(job).outcome, Outcome::kInterrupted);
  c.Resume(job);
  c.Settle();
  EXPECT_EQ(c.attempt(job).state, AttemptState::kRunning);
  EXPECT_GE(c.attempt(job).base.step, 9);
  EXPECT_FALSE(IsIdle(job)) << "a new attempt begins anew";
}

TEST_F(IdleGpusTest, OneBusyGpuOfOneNodeEndsIt) {
  const JobId job = Start();
  c.Advance(Minutes(59));
  Busy(job, 1);
  c.Advance(Minutes(59));
  EXPECT_FALSE(IsIdle(job));
  c.Advance(Minutes(2));
  ASSERT_TRUE(IsIdle(job));
  Busy(job, 0);
  EXPECT_FALSE(IsIdle(job));
  EXPECT_EQ(c.Noted(HistoryKind::kAttemptGpusBusy), 1);
  EXPECT_EQ(Said(HistoryKind::kAttemptGpusBusy), "its GPUs are used again after 1 h 1 min");
  c.Advance(Minutes(59));
  EXPECT_FALSE(IsIdle(job));
  EXPECT_EQ(c.job(job).state, JobState::kRunning) << "the whole time counts anew";
  c.Advance(Minutes(1));
  EXPECT_TRUE(IsIdle(job));
}

TEST_F(IdleGpusTest, WithoutSuspendAfterItIsWarnedOnceAndNoMore) {
  Policy(Hours(1), {});
  const JobId job = Start();
  c.Advance(Hours(48));
  EXPECT_EQ(c.Noted(HistoryKind::kAttemptGpusIdle), 1);
  EXPECT_EQ(Said(HistoryKind::kAttemptGpusIdle),
            "none of its 16 GPUs was busy for 1 h; if it does not need them, give them back: glim suspend 1");
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
}

TEST_F(IdleGpusTest, AWarnAfterOfZeroTurnsItOff) {
  Policy({}, Minutes(30));
  const JobId job = Start();
  c.Advance(Hours(48));
  EXPECT_FALSE(IsIdle(job));
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
}

TEST_F(IdleGpusTest, APolicyThatBecomesShorterWarnsBeforeItSuspends) {
  Policy(Hours(24), {});
  const JobId job = Start();
  c.Advance(Hours(5));
  Policy(Hours(1), Minutes(30));
  c.Heartbeats();
  c.Advance(c.policy().node_lost_after);
  ASSERT_TRUE(IsIdle(job));
  c.Advance(Minutes(30) - Milliseconds(1));
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  c.Advance(Milliseconds(1));
  EXPECT_EQ(c.job(job).state, JobState::kSuspending);
}

TEST_F(IdleGpusTest, StepsAloneSaveNobodyAndAreNoReasonEither) {
  const JobId job = Start();
  const JobId other = c.Submit(Spec(2));
  c.Settle();
  Watch(other);
  for (int step = 1; step <= 60; ++step) {
    c.Advance(Minutes(1));
    c.Step(job, step);
    Busy(other);
  }
  EXPECT_TRUE(IsIdle(job)) << "it reports steps, and its GPUs do nothing";
  EXPECT_FALSE(IsIdle(other)) << "it reports none, and they work";
}

TEST_F(IdleGpusTest, AJobThatStandsStillIsWarnedToo) {
  const JobId job = Start();
  c.Step(job, 3);
  c.Advance(Hours(1));
  EXPECT_TRUE(c.attempt(job).stalled_since);
  EXPECT_TRUE(IsIdle(job));
  c.Step(job, 4);
  EXPECT_FALSE(c.attempt(job).stalled_since);
  EXPECT_TRUE(IsIdle(job));
  c.Advance(Minutes(30));
  EXPECT_EQ(c.job(job).state, JobState::kSuspending);
}

TEST_F(IdleGpusTest, WhoseGpusWorkAgainWhileItIsAskedWhatItDoesIsAskedOn) {
  Policy(Minutes(10), {});
  const JobId job = Start();
  c.Step(job, 3);
  c.Advance(c.policy().health.no_progress_min);
  ASSERT_TRUE(c.attempt(job).stalled_since);
  ASSERT_TRUE(IsIdle(job));
  Busy(job);
  EXPECT_FALSE(IsIdle(job));
  EXPECT_TRUE(c.attempt(job).stalled_since) << "a GPU that works is no step";
  EXPECT_TRUE(c.attempt(job).evidence.empty());
}

// --- no false alarm

TEST_F(IdleGpusTest, WhereNobodyWatchesTheGpusNobodyIsJudged) {
  const JobId job = c.Submit(Spec(2));
  c.Settle();
  c.Advance(Hours(10));
  EXPECT_FALSE(IsIdle(job));
  c.Edit(job, 0, [](ObservedTask& task) { task.gpu_busy_at = kStart; });
  c.Advance(Hours(10));
  EXPECT_FALSE(IsIdle(job)) << "what the other node's do is not known";
  c.Edit(job, 1, [](ObservedTask& task) { task.gpu_busy_at = kStart; });
  c.Advance(Hours(1) - Milliseconds(1));
  EXPECT_FALSE(IsIdle(job)) << "from then on";
  c.Advance(Milliseconds(1));
  EXPECT_TRUE(IsIdle(job));
}

TEST_F(IdleGpusTest, TimeInWhichADriverSaidNothingDoesNotCount) {
  const JobId job = Start();
  c.Advance(Minutes(50));
  c.Edit(job, 1, [](ObservedTask& task) { task.gpu_busy_at = {}; });
  c.Advance(Hours(3));
  c.Edit(job, 1, [](ObservedTask& task) { task.gpu_busy_at = kStart; });
  c.Advance(Minutes(59));
  EXPECT_FALSE(IsIdle(job));
  c.Advance(Minutes(1));
  EXPECT_TRUE(IsIdle(job));
}

TEST_F(IdleGpusTest, AnAgentThatWasStartedAnewAndTellsTheStartAgainSawNothing) {
  const JobId job = Start();
  Busy(job);
  c.Advance(Minutes(30));
  c.Edit(job, 0, [](ObservedTask& task) { task.gpu_busy_at = kStart; });
  c.Advance(Minutes(30));
  EXPECT_TRUE(IsIdle(job));
  c.Edit(job, 0, [](ObservedTask& task) { task.gpu_busy_at = kStart + Seconds(1); });
  EXPECT_FALSE(IsIdle(job)) << "also where its clock was set back";
}

TEST_F(IdleGpusTest, ASilentAgentsTimeDoesNotCount) {
  c.policy().node_lost_after = Hours(3);
  const JobId job = Start();
  c.Advance(Minutes(40));
  c.Silence(c.attempt(job).nodes[1], true);
  c.Advance(Hours(2));
  EXPECT_FALSE(IsIdle(job));
  c.Return(c.attempt(job).nodes[1]);
  c.Advance(Minutes(19));
  EXPECT_FALSE(IsIdle(job));
  c.Advance(Minutes(2));
  EXPECT_TRUE(IsIdle(job)) << "40 and 20 minutes in which it was heard";
}

TEST_F(IdleGpusTest, TimeInWhichTheSchedulerSleptDoesNotCount) {
  const JobId job = Start();
  c.Advance(Minutes(40));
  c.SetNow(c.now() + Hours(4));
  c.Heartbeats();
  c.Advance(Minutes(19));
  EXPECT_FALSE(IsIdle(job));
  c.Advance(Minutes(2));
  EXPECT_TRUE(IsIdle(job));
}

TEST_F(IdleGpusTest, ANewLeaderCountsTheWholeTimeOnceMore) {
  const JobId job = Start();
  c.Advance(Hours(1) + Minutes(29));
  ASSERT_TRUE(IsIdle(job));
  c.RestartScheduler();
  for (const NodeId node : c.attempt(job).nodes) c.Return(node);
  EXPECT_TRUE(IsIdle(job)) << "a leader's first word of its GPUs is no sign that they are used";
  c.Advance(Hours(1) + Minutes(29));
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  c.Advance(Minutes(1));
  EXPECT_EQ(c.job(job).state, JobState::kSuspending);
  EXPECT_EQ(c.Noted(HistoryKind::kAttemptGpusIdle), 1) << "it was warned before";
}

TEST_F(IdleGpusTest, WhoIsAskedToLeaveIsNotJudged) {
  const JobId job = Start();
  c.script(job).acks = c.script(job).leaves = false;
  c.Advance(Minutes(59) + Seconds(50));
  c.Suspend(job);
  c.Advance(Seconds(20));
  EXPECT_FALSE(IsIdle(job));
  EXPECT_EQ(c.agreement(job).reason, "suspended by ann");
}

TEST_F(IdleGpusTest, NorIsWhoRestoresForAsLongAsThatMayTake) {
  const JobId job = Start();
  c.Save(job, 9);
  c.Suspend(job);
  c.Settle();
  c.Resume(job);
  c.Settle();
  Watch(job);
  c.Advance(Minutes(89));
  EXPECT_FALSE(IsIdle(job));
  c.Advance(Minutes(2));
  EXPECT_TRUE(IsIdle(job)) << "half an hour for its save, and an hour";
}

TEST_F(IdleGpusTest, NorIsAJobOfTheClustersOwn) {
  const JobId job = Start();
  Job row = c.job(job);
  row.validates = NodeId(1);
  Changes changes(c.state(), c.policy(), c.now());
  changes.Write(row);
  c.Commit(changes.Take());
  c.Advance(Hours(2));
  EXPECT_FALSE(IsIdle(job));
}

TEST_F(IdleGpusTest, NobodyWakesForWhoHasEnded) {
  const JobId job = Start();
  c.Advance(Hours(1));
  c.Finish(job);
  EXPECT_TRUE(c.state().watch.attempts.empty());
  EXPECT_TRUE(c.state().watch.due.empty());
}

}  // namespace
}  // namespace glim::core
