// limits.time: at its limit a job is asked to save and leave, and is over.
#include "scheduler/core/lifecycle/timers.h"
#include "scheduler/core/model/time_limit.h"
#include "scheduler/core/testing/cluster_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace glim::core {
namespace {

using testing::Cluster;
using testing::ScriptedAgent;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

JobSpec Limited(std::uint32_t nodes, Duration limit) {
  return SpecWith(nodes, [&](JobSpec& spec) { spec.time_limit = limit; });
}

TEST(TimeLimit, AtItTheJobSavesLeavesAndIsOver) {
  Cluster c;
  const JobId job = c.Submit(Limited(2, Hours(2)));
  c.Settle();
  c.Step(job, 40);
  c.Advance(Hours(2) - Milliseconds(1));
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  c.Advance(Milliseconds(1));
  EXPECT_EQ(c.job(job).state, JobState::kInterrupting);
  EXPECT_TRUE(c.agreement(job).time_limit);
  EXPECT_EQ(c.agreement(job).reason, "its time limit of 2 h is reached");
  EXPECT_EQ(c.agreement(job).deadline - c.now(), Seconds(60));
  EXPECT_TRUE(c.state().index().limits.empty()) << "it is asked once";
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
  EXPECT_EQ(c.attempt(job).outcome, Outcome::kTimeout);
  EXPECT_EQ(c.attempt(job).save, SaveResult::kSaved);
  EXPECT_EQ(c.job(job).message, "reached its time limit of 2 h; saved at step 41");
  EXPECT_EQ(c.job(job).steps_lost, 0);
  EXPECT_EQ(c.job(job).saves_done, 1u);
  EXPECT_EQ(c.job(job).ledger[static_cast<std::size_t>(Use::kLost)], 0);
  EXPECT_EQ(c.Noted(HistoryKind::kJobFailed), 1);
}

TEST(TimeLimit, WhoDoesNotAnswerIsKilled) {
  Cluster c;
  const JobId job = c.Submit(Limited(2, Minutes(90)));
  c.script(job).acks = c.script(job).saves = c.script(job).leaves = false;
  c.Settle();
  c.Save(job, 40);
  c.Step(job, 50);
  c.Advance(Minutes(90) + Seconds(60));
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
  EXPECT_EQ(c.attempt(job).outcome, Outcome::kTimeout);
  EXPECT_EQ(c.attempt(job).save, SaveResult::kKilled);
  EXPECT_EQ(c.job(job).message, "reached its time limit of 1 h 30 min; killed, 10 steps lost");
  EXPECT_EQ(c.job(job).steps_lost, 10);
  EXPECT_GT(c.job(job).ledger[static_cast<std::size_t>(Use::kLost)], 0);
}

TEST(TimeLimit, ASignalledJobLeavesByItself) {
  Cluster c;
  const JobId job = c.Submit(SpecWith(1, [](JobSpec& spec) {
    spec.time_limit = Seconds(30);
    spec.interrupt_mode = InterruptMode::kSignal;
  }));
  c.Settle();
  c.Advance(Seconds(30));
  EXPECT_EQ(c.agreement(job).state, AgreementState::kSignalled);
  c.Settle();
  EXPECT_EQ(c.attempt(job).outcome, Outcome::kTimeout);
  EXPECT_EQ(c.job(job).message, "reached its time limit of 30 s; left, and reported neither steps nor a save");
}

TEST(TimeLimit, WhoFinishesInsteadHasSucceeded) {
  Cluster c;
  const JobId job = c.Submit(Limited(2, Minutes(1)));
  c.script(job).leaves = c.script(job).acks = false;
  c.Settle();
  c.Advance(Minutes(1));
  ASSERT_TRUE(c.agreement(job).time_limit);
  c.Finish(job);
  EXPECT_EQ(c.job(job).state, JobState::kSucceeded);
}

TEST(TimeLimit, CountsRunningOverAllAttemptsAndNoWaiting) {
  Cluster c;
  const JobId job = c.Submit(Limited(2, Hours(1)));
  c.Settle();
  c.Advance(Minutes(40));
  c.Suspend(job);
  c.Settle();
  ASSERT_EQ(c.job(job).state, JobState::kHeld);
  EXPECT_EQ(c.job(job).service, Minutes(40));
  c.Advance(Hours(5));
  c.Resume(job);
  c.Settle();
  ASSERT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(c.state().index().limits.begin()->first, c.now() + Minutes(20));
  c.Advance(Minutes(20) - Milliseconds(1));
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  c.Advance(Milliseconds(1));
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
  EXPECT_EQ(c.attempt(job).outcome, Outcome::kTimeout);
  EXPECT_EQ(c.job(job).service, Hours(1));
}

TEST(TimeLimit, AnOpenInterruptEndsTheJobWhenTheLimitPassesMeanwhile) {
  Cluster c;
  const JobId job = c.Submit(Limited(2, Minutes(10)));
  c.script(job).leaves = false;
  c.Settle();
  c.Advance(Minutes(10) - Seconds(20));
  const JobId urgent = c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  c.Settle();
  ASSERT_EQ(c.agreement(job).state, AgreementState::kAgreed);
  c.Advance(Seconds(20));
  EXPECT_TRUE(c.agreement(job).time_limit);
  EXPECT_EQ(c.attempt(job).agreements.size(), 1u);
  EXPECT_EQ(c.agreement(job).preemptor.job, urgent) << "they are waited for all the same";
  c.script(job).leaves = true;
  c.EditAll(job, [](ObservedTask& task) {
    task.ranks[0].leaving = true;
    ScriptedAgent::Release(task, 0);
  });
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
  EXPECT_EQ(c.job(urgent).state, JobState::kRunning);
}

TEST(TimeLimit, ItsAgreementIsNotWithdrawnWithAPreemptor) {
  Cluster c;
  const JobId job = c.Submit(Limited(2, Minutes(10)));
  c.script(job).acks = false;
  c.Settle();
  c.Advance(Minutes(10) - Seconds(1));
  const JobId urgent = c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  c.Advance(Seconds(1));
  ASSERT_TRUE(c.agreement(job).time_limit);
  ASSERT_EQ(c.agreement(job).state, AgreementState::kNotifying);
  c.Cancel(urgent, "bob");
  EXPECT_EQ(c.agreement(job).state, AgreementState::kNotifying);
  EXPECT_FALSE(c.agreement(job).swap_aborted);
  c.script(job).acks = true;
  c.Heartbeats();
  c.Advance(Seconds(60));
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
}

TEST(TimeLimit, WhoIsKilledAcrossItDoesNotQueueAgain) {
  Cluster c;
  const JobId job = c.Submit(SpecWith(2, [](JobSpec& spec) {
    spec.time_limit = Minutes(2);
    spec.grace = spec.max_grace = Seconds(30);
  }));
  c.script(job).acks = c.script(job).leaves = false;
  c.script(job).stuck = true;
  c.Settle();
  c.Advance(Minutes(2) - Seconds(31));
  c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  c.Advance(Seconds(30));
  ASSERT_EQ(c.attempt(job).stop, StopCause::kDeadline) << "stopped a second before its limit";
  c.Advance(Seconds(2));
  c.script(job).stuck = false;
  c.EditAll(job, [](ObservedTask& task) { ScriptedAgent::Release(task, 137); });
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
  EXPECT_EQ(c.attempt(job).outcome, Outcome::kTimeout);
  EXPECT_EQ(c.job(job).message, "reached its time limit of 2 min; killed, it reported no steps");
}

TEST(TimeLimit, ALostNodeAfterItEndsTheJob) {
  Cluster c;
  const JobId job = c.Submit(Limited(2, Minutes(1)));
  c.script(job).acks = c.script(job).leaves = false;
  c.Settle();
  c.Advance(Minutes(1) + Seconds(1));
  c.Edit(job, 0, [](ObservedTask& task) {
    task.lost = true;
    ScriptedAgent::Release(task, 0);
  });
  c.Settle();
  EXPECT_EQ(c.attempt(job).outcome, Outcome::kNodeFailure);
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
  EXPECT_THAT(c.job(job).message, ::testing::StartsWith("reached its time limit of 1 min; its task was lost"));
}

TEST(TimeLimit, ASuspendedJobAtItsLimitIsOverAndNotHeld) {
  Cluster c;
  const JobId job = c.Submit(Limited(2, Minutes(1)));
  c.script(job).leaves = false;
  c.Settle();
  c.Advance(Seconds(50));
  c.Suspend(job);
  c.Settle();
  c.Advance(Seconds(10));
  EXPECT_TRUE(c.agreement(job).time_limit);
  EXPECT_EQ(c.job(job).state, JobState::kSuspending);
  c.EditAll(job, [](ObservedTask& task) {
    task.ranks[0].leaving = true;
    ScriptedAgent::Release(task, 0);
  });
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
}

TEST(TimeLimit, NodesThatAreSilentAreAskedWhenTheyAreHeard) {
  Policy patient;
  patient.node_lost_after = Hours(1);
  Cluster c(Zones{}, patient);
  const JobId job = c.Submit(Limited(2, Minutes(20)));
  c.Settle();
  c.Silence(NodeId(1), true);
  c.Advance(Minutes(21));
  EXPECT_TRUE(c.attempt(job).agreements.empty());
  const TimePoint wake = NextWake(c.state(), c.policy());
  EXPECT_TRUE(!wake || wake > c.now()) << "the loop would spin";
  c.Return(NodeId(1));
  EXPECT_LE(NextWake(c.state(), c.policy()), c.now());
  c.Do(TimePassed{});
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
  EXPECT_EQ(c.attempt(job).save, SaveResult::kSaved);
}

TEST(TimeLimit, SurvivesTheScheduler) {
  Cluster c;
  const JobId job = c.Submit(Limited(2, Minutes(20)));
  c.Settle();
  c.RestartScheduler();
  c.Return(NodeId(1));
  c.Return(NodeId(2));
  c.Advance(Minutes(20));
  c.Settle();
  EXPECT_EQ(c.job(job).message, "reached its time limit of 20 min; saved at step 0");
}

TEST(TimeLimit, APolicyMayLeaveItAlone) {
  Policy policy;
  policy.enforce_time_limits = false;
  Cluster c(Zones{}, policy);
  const JobId job = c.Submit(Limited(2, Minutes(1)));
  c.Settle();
  c.Advance(Hours(1));
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  c.Suspend(job);
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kHeld);
}

TEST(TimeLimit, TheIndexFollows) {
  Cluster c(Zones{.nodes = 3});
  c.Submit(Limited(1, Minutes(1)));
  c.Submit(Limited(1, Minutes(2)));
  c.Submit(Spec(1));
  EXPECT_EQ(c.state().index().limits.size(), 2u);
  EXPECT_EQ(c.state().index(), c.state().RebuildIndex());
  c.Settle();
  c.Advance(Minutes(1));
  c.Settle();
  EXPECT_EQ(c.state().index().limits.size(), 1u);
  EXPECT_EQ(c.state().index(), c.state().RebuildIndex());
}

TEST(TimeLimit, FiguresThatNobodyCanMeanDoNotOverflow) {
  Cluster c;
  const JobId id = c.Submit(Limited(1, Hours(1)));
  c.Settle();
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  Job job = c.job(id);
  Attempt attempt = c.attempt(id);
  attempt.started_at = {most - 5};
  EXPECT_EQ(LimitAt(job, attempt), TimePoint{most});
  job.service = {std::numeric_limits<std::int64_t>::min()};
  attempt.started_at = {1};
  EXPECT_EQ(LimitAt(job, attempt), TimePoint{1} + Hours(1));
  job.service = {most};
  EXPECT_EQ(LimitAt(job, attempt), TimePoint{1});
}

}  // namespace
}  // namespace glim::core
