// The watchdog: jobs that stand still are noticed, and go on elsewhere where they want that. No false alarm.
#include "scheduler/core/lifecycle/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "scheduler/core/lifecycle/desired.h"
#include "scheduler/core/lifecycle/stall_evidence.h"
#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using ::testing::AllOf;
using testing::Cluster;
using ::testing::HasSubstr;
using ::testing::Lt;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

class WatchdogTest : public ::testing::Test {
 protected:
  JobId Start(std::uint32_t nodes = 2, Duration no_progress = {}, bool hang = false) {
    const JobId job = c.Submit(SpecWith(nodes, [&](JobSpec& spec) {
      spec.no_progress = no_progress;
      if (hang) spec.restart_on = {"node_failure", "hang"};
    }));
    c.Settle();
    Alive(job);
    return job;
  }
  // Each task has written output now.
  void Alive(JobId job) {
    c.EditAll(job, [this](ObservedTask& task) { task.activity_at = c.now() + Hours(3); });  // by another clock
  }
  void Alive(JobId job, std::uint32_t index) {
    c.Edit(job, index, [this](ObservedTask& task) { task.activity_at = c.now() + Hours(3); });
  }
  void Answer(JobId job, std::uint32_t index, const std::string& text) {
    const std::uint32_t question = Question(job, index);
    ASSERT_NE(question, 0u) << "nobody has asked";
    c.Edit(job, index, [&](ObservedTask& task) {
      task.evidence_id = question;
      task.evidence = text;
    });
  }
  std::uint32_t Question(JobId job, std::uint32_t index) const {
    const auto desired = DesiredFor(c.state().tables(), c.attempt(job).nodes.at(index));
    return desired.empty() ? 0 : desired.front().evidence;
  }
  bool StandsStill(JobId job) const { return static_cast<bool>(c.attempt(job).stalled_since); }

  mutable Cluster c{Zones{1, 1, 4}};
};

TEST_F(WatchdogTest, AfterHalfAnHourWithoutASignItIsReportedAndNoMore) {
  const JobId job = Start();
  c.Step(job, 7);
  const TimePoint last = c.now();
  c.Advance(Minutes(30) - Milliseconds(1));
  EXPECT_FALSE(StandsStill(job));
  c.Advance(Milliseconds(1));
  EXPECT_EQ(c.attempt(job).stalled_since, last);
  EXPECT_EQ(c.Noted(HistoryKind::kAttemptStalled), 1);
  c.Advance(Hours(24));
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(c.job(job).attempts, 1u);
  EXPECT_EQ(c.Noted(HistoryKind::kAttemptStalled), 1) << "it is said once";
  EXPECT_EQ(c.attempt(job).evidence_asked, 1u);
}

TEST_F(WatchdogTest, AStepASaveOrOutputOfAnyRankIsASign) {
  const JobId job = Start();
  c.Step(job, 7);
  c.Advance(Minutes(29));
  c.Edit(job, 1, [](ObservedTask& task) { task.ranks[0].step = 8; });
  c.Advance(Minutes(29));
  c.Save(job, 8);
  c.Advance(Minutes(29));
  Alive(job, 0);
  c.Advance(Minutes(29));
  Alive(job, 1);
  c.Advance(Minutes(29));
  EXPECT_FALSE(StandsStill(job));
  EXPECT_EQ(c.Noted(HistoryKind::kAttemptStalled), 0);
}

TEST_F(WatchdogTest, OutputByASlowClockCountsBesideAFastOne) {
  const JobId job = Start();
  c.Edit(job, 0, [this](ObservedTask& task) { task.activity_at = c.now() + Hours(5); });
  for (int i = 0; i < 6; ++i) {
    c.Advance(Minutes(10));
    c.Edit(job, 1, [this](ObservedTask& task) { task.activity_at = c.now() - Hours(1) + Minutes(1); });
  }
  EXPECT_FALSE(StandsStill(job));
}

TEST_F(WatchdogTest, ASignEndsIt) {
  const JobId job = Start();
  c.Step(job, 7);
  c.Advance(Minutes(30));
  ASSERT_TRUE(StandsStill(job));
  Answer(job, 0, "rank 0: python3 (pid 1) sleeps\n");
  Answer(job, 1, "rank 1: python3 (pid 1) sleeps\n");
  ASSERT_NE(c.attempt(job).evidence, "");
  c.Advance(Minutes(1));
  c.Step(job, 8);
  EXPECT_FALSE(StandsStill(job));
  EXPECT_EQ(c.attempt(job).evidence, "");
  EXPECT_EQ(c.Noted(HistoryKind::kAttemptStallOver), 1);
  EXPECT_EQ(c.job(job).longest_gap, Minutes(31)) << "it came through that by itself";
  c.Advance(Minutes(20 * 31) - Milliseconds(1));
  EXPECT_FALSE(StandsStill(job));
  c.Advance(Milliseconds(1));
  EXPECT_TRUE(StandsStill(job));
}

TEST_F(WatchdogTest, LongGapsMakeItWaitLonger) {
  const JobId job = Start();
  c.Step(job, 1);
  c.Advance(Seconds(80));
  c.Step(job, 2);
  EXPECT_EQ(c.job(job).longest_gap, Duration{}) << "20 times 80 s is no half hour: nothing to write down";
  c.Advance(Minutes(5));  // a save, an evaluation
  c.Step(job, 3);
  EXPECT_EQ(c.job(job).longest_gap, Minutes(5));
  c.Advance(Minutes(6));
  c.Step(job, 4);
  EXPECT_EQ(c.job(job).longest_gap, Minutes(5)) << "a little more is not written down";
  c.Advance(Minutes(120) - Milliseconds(1));
  EXPECT_FALSE(StandsStill(job)) << "but counts";
  c.Advance(Milliseconds(1));
  EXPECT_TRUE(StandsStill(job));
}

TEST_F(WatchdogTest, TheSpecsOwnLimitCountsAlone) {
  const JobId job = Start(2, Minutes(2));
  c.Step(job, 1);
  c.Advance(Seconds(100));
  c.Step(job, 2);
  c.Advance(Minutes(2) - Milliseconds(1));
  EXPECT_FALSE(StandsStill(job));
  c.Advance(Milliseconds(1));
  EXPECT_TRUE(StandsStill(job));
}

TEST_F(WatchdogTest, ThePolicyHasTheNumbers) {
  c.policy().health.no_progress_min = Minutes(3);
  c.policy().health.no_progress_gaps = 2;
  const JobId job = Start();
  c.Step(job, 1);
  c.Advance(Minutes(2));
  c.Step(job, 2);
  c.Advance(Minutes(4) - Milliseconds(1));
  EXPECT_FALSE(StandsStill(job));
  c.Advance(Milliseconds(1));
  EXPECT_TRUE(StandsStill(job));
}

TEST_F(WatchdogTest, WhatItsProcessesDoIsKeptTheFarthestBehindFirst) {
  const JobId job = Start(3);
  c.Step(job, 9);
  c.Edit(job, 1, [](ObservedTask& task) { task.ranks[0].step = 9; });
  c.Edit(job, 0, [](ObservedTask& task) { task.ranks[0].step = 10; });
  c.Edit(job, 2, [](ObservedTask& task) { task.ranks[0].step = 10; });
  c.Advance(Minutes(30));
  ASSERT_TRUE(StandsStill(job));
  EXPECT_EQ(Question(job, 0), 1u);
  Answer(job, 0, "rank 0: python3 (pid 4) sleeps; all_reduce, comm.py:9\n\nstack zero\n");
  EXPECT_EQ(c.attempt(job).evidence, "") << "the others are waited for";
  Answer(job, 2, "rank 2: python3 (pid 6) sleeps; all_reduce, comm.py:9\n\nstack two\n");
  Answer(job, 1, "rank 1: python3 (pid 5) hangs in the kernel (D) in nfs_wait\n\nstack one\n");
  EXPECT_THAT(c.attempt(job).evidence,
              ::testing::StartsWith("n2, at step 9:\nrank 1: python3 (pid 5) hangs in the kernel (D) in nfs_wait\n"
                                    "n1, at step 10:\nrank 0: python3 (pid 4) sleeps; all_reduce, comm.py:9\n"
                                    "n3, at step 10:\n"));
  EXPECT_THAT(c.attempt(job).evidence, HasSubstr("\n\nn2:\nstack one\n\nn1:\nstack zero\n"));
  EXPECT_EQ(Question(job, 0), 0u) << "agents need not tell it again and again";
  EXPECT_EQ(c.job(job).state, JobState::kRunning) << "hang is not in restart.on";
}

TEST_F(WatchdogTest, WhoDoesNotAnswerIsWaitedForAMinute) {
  const JobId job = Start();
  c.Step(job, 9);
  c.Advance(Minutes(30));
  Answer(job, 0, "rank 0: python3 (pid 4) sleeps\n");
  c.Advance(kEvidenceWait - Milliseconds(1));
  EXPECT_EQ(c.attempt(job).evidence, "");
  c.Advance(Milliseconds(1));
  EXPECT_THAT(c.attempt(job).evidence, AllOf(HasSubstr("rank 0: python3"), HasSubstr("n2, at step 9: no answer")));
}

TEST_F(WatchdogTest, AnAnswerToAnEarlierQuestionIsNone) {
  const JobId job = Start();
  c.EditAll(job, [](ObservedTask& task) { task.evidence_id = 7; });
  c.Advance(Minutes(30));
  EXPECT_EQ(c.attempt(job).evidence_asked, 1u);
  c.Heartbeats();
  EXPECT_EQ(c.attempt(job).evidence, "");
}

TEST_F(WatchdogTest, EvidenceIsBounded) {
  const JobId job = Start();
  c.Step(job, 9);
  c.Advance(Minutes(30));
  for (const std::uint32_t index : {0u, 1u}) {
    Answer(job, index, std::string(40'000, 'l') + "\n\n" + std::string(20'000, 's'));
  }
  EXPECT_THAT(c.attempt(job).evidence.size(), AllOf(::testing::Gt(10'000u), Lt(kEvidenceBytesMax + 1)));
}

TEST_F(WatchdogTest, WithHangInRestartOnItIsStoppedAndItsNodesAreSuspects) {
  const JobId job = Start(2, {}, true);
  c.Save(job, 9);
  c.Step(job, 12);
  c.Advance(Minutes(30));
  ASSERT_EQ(c.attempt(job).state, AttemptState::kRunning) << "evidence comes first";
  Answer(job, 0, "rank 0: a\n");
  Answer(job, 1, "rank 1: b\n");
  EXPECT_EQ(c.attempt(job, 1).stop, StopCause::kHang);
  EXPECT_THAT(c.attempt(job, 1).message, HasSubstr("it stands still: no step, save or output for 30 min"));
  EXPECT_EQ(c.node(NodeId(1)).suspect_until - c.now(), c.policy().suspect_for);
  EXPECT_THAT(c.node(NodeId(2)).suspect_why, HasSubstr("stood still there"));
  EXPECT_EQ(c.node(NodeId(2)).validation.need, ValidationNeed::kSuspicion) << "it is measured";
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kHang);
  EXPECT_THAT(c.attempt(job, 1).message, HasSubstr("; 3 steps lost"));
  EXPECT_THAT(c.attempt(job, 1).evidence, HasSubstr("rank 1: b")) << "it stays with the attempt";
}

TEST_F(WatchdogTest, WithoutAnyAnswerItIsStoppedAMinuteLater) {
  const JobId job = Start(2, {}, true);
  c.Step(job, 12);
  c.Advance(Minutes(30) + kEvidenceWait - Milliseconds(1));
  EXPECT_EQ(c.attempt(job, 1).stop, StopCause::kNone);
  c.Advance(Milliseconds(1));
  EXPECT_EQ(c.attempt(job, 1).stop, StopCause::kHang);
}

TEST_F(WatchdogTest, ASignMeanwhileSavesIt) {
  const JobId job = Start(2, {}, true);
  c.Step(job, 12);
  c.Advance(Minutes(30) + kEvidenceWait / 2);
  ASSERT_TRUE(StandsStill(job));
  Alive(job, 1);
  EXPECT_EQ(Question(job, 0), 0u);
  c.Advance(Minutes(20));
  EXPECT_EQ(c.attempt(job, 1).stop, StopCause::kNone);
}

TEST_F(WatchdogTest, WhoReportsNoStepsIsOnlyReported) {
  const JobId job = Start(2, {}, true);
  c.Advance(Hours(2));
  EXPECT_TRUE(StandsStill(job));
  EXPECT_EQ(c.attempt(job).stop, StopCause::kNone);
}

TEST_F(WatchdogTest, UnlessItsSpecSaysHowLongItMayBeSilent) {
  const JobId job = Start(2, Minutes(10), true);
  c.Advance(Minutes(10) + kEvidenceWait);
  EXPECT_EQ(c.attempt(job, 1).stop, StopCause::kHang);
}

TEST_F(WatchdogTest, AnAgentOfAnEarlierReleaseTellsOfNoOutputSoNobodyJudges) {
  const JobId job = c.Submit(Spec(2));
  c.Settle();
  c.Advance(Hours(5));
  EXPECT_FALSE(StandsStill(job)) << "it reported no step, and its agents tell of no output";
  c.Step(job, 1);
  c.Advance(Hours(6));
  EXPECT_TRUE(StandsStill(job)) << "its steps tell";
}

// --- no false alarm

TEST_F(WatchdogTest, ASilentAgentsTimeDoesNotCount) {
  Policy patient;
  patient.node_lost_after = Hours(3);
  c.policy() = patient;
  const JobId job = Start();
  c.Step(job, 1);
  c.Advance(Minutes(20));
  c.Silence(c.attempt(job).nodes[1], true);
  c.Advance(Hours(2));
  EXPECT_FALSE(StandsStill(job)) << "who is not heard is not judged";
  c.Return(c.attempt(job).nodes[1]);
  c.Advance(Minutes(9));
  EXPECT_FALSE(StandsStill(job));
  c.Advance(Minutes(1));
  EXPECT_TRUE(StandsStill(job)) << "20 and 10 minutes in which it was heard";
}

TEST_F(WatchdogTest, TimeInWhichTheSchedulerSleptDoesNotCount) {
  const JobId job = Start();
  c.Step(job, 1);
  c.Advance(Minutes(20));
  c.SetNow(c.now() + Hours(4));
  c.Heartbeats();
  c.Advance(Minutes(9));
  EXPECT_FALSE(StandsStill(job));
  c.Advance(Minutes(2));
  EXPECT_TRUE(StandsStill(job));
}

TEST_F(WatchdogTest, ANewLeaderKnowsTheJobsGapsAndCountsFromItsBeginning) {
  const JobId job = Start();
  c.Step(job, 1);
  c.Advance(Minutes(25));
  c.Step(job, 2);
  c.Advance(Hours(8));
  c.RestartScheduler();
  for (const NodeId node : c.attempt(job).nodes) c.Return(node);
  c.Advance(Hours(8));
  EXPECT_FALSE(StandsStill(job)) << "20 times 25 minutes, from the first report on";
  c.Advance(Hours(1));
  EXPECT_TRUE(StandsStill(job));
}

TEST_F(WatchdogTest, WhatStoodStillBeforeANewLeaderIsRestartedByItsOwnCountAlone) {
  const JobId job = Start(2, Minutes(10), true);
  c.Step(job, 1);
  c.Advance(Minutes(10) + Seconds(30));
  ASSERT_TRUE(StandsStill(job));
  c.RestartScheduler();
  for (const NodeId node : c.attempt(job).nodes) c.Return(node);
  EXPECT_TRUE(StandsStill(job));
  EXPECT_NE(Question(job, 0), 0u) << "the question stands";
  c.Advance(Minutes(9));
  EXPECT_EQ(c.attempt(job, 1).stop, StopCause::kNone) << "a sign may have come while nobody listened";
  EXPECT_NE(c.attempt(job).evidence, "");
  c.Advance(Minutes(1) + kEvidenceWait);
  EXPECT_EQ(c.attempt(job, 1).stop, StopCause::kHang);
  EXPECT_EQ(c.Noted(HistoryKind::kAttemptStalled), 1);
}

TEST_F(WatchdogTest, ANewLeadersFirstWordOfATaskIsNoSign) {
  const JobId job = Start();
  c.Step(job, 1);
  c.Advance(Minutes(31));
  ASSERT_TRUE(StandsStill(job));
  c.RestartScheduler();
  for (const NodeId node : c.attempt(job).nodes) c.Return(node);
  c.Heartbeats();
  EXPECT_TRUE(StandsStill(job));
  Alive(job, 0);
  EXPECT_FALSE(StandsStill(job));
}

TEST_F(WatchdogTest, WhoIsAskedToLeaveIsNotJudged) {
  const JobId job = Start(2, Minutes(1));
  c.script(job).acks = c.script(job).leaves = false;
  c.Step(job, 1);
  c.Suspend(job);
  c.Advance(Seconds(59));
  EXPECT_EQ(c.Noted(HistoryKind::kAttemptStalled), 0);
}

TEST_F(WatchdogTest, NorIsWhoStartsOrRestores) {
  const JobId starting = c.Submit(SpecWith(1, [](JobSpec& spec) { spec.no_progress = Minutes(1); }));
  c.script(starting).runs = false;
  c.Settle();
  c.Advance(Minutes(4));
  EXPECT_EQ(c.Noted(HistoryKind::kAttemptStalled), 0);
  const JobId job = Start(2, Minutes(1));
  c.Save(job, 9);
  c.Suspend(job);
  c.Settle();
  c.Resume(job);
  c.Settle();
  Alive(job);
  ASSERT_EQ(c.attempt(job).state, AttemptState::kRunning);
  ASSERT_GE(c.attempt(job).base.step, 9);
  c.Advance(Minutes(10));
  EXPECT_FALSE(StandsStill(job)) << "it restores";
  c.Edit(job, 0, [](ObservedTask& task) { task.ranks[0].restored_step = 9; });
  c.Advance(Minutes(1));
  EXPECT_TRUE(StandsStill(job));
}

TEST_F(WatchdogTest, NobodyWakesForWhoHasEnded) {
  const JobId job = Start();
  EXPECT_FALSE(c.state().watch.due.empty());
  c.Finish(job);
  EXPECT_TRUE(c.state().watch.attempts.empty());
  EXPECT_TRUE(c.state().watch.due.empty());
}

}  // namespace
}  // namespace glim::core
