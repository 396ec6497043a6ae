// What attempts that leave by themselves, and interrupts that lose much, change for the job's next attempts.
#include "scheduler/core/lifecycle/yield.h"

#include <gtest/gtest.h>

#include <functional>

#include "scheduler/core/model/interrupt_terms.h"
#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::ScriptedAgent;
using testing::Spec;
using testing::SpecWith;

// Every rank says that it goes, unasked, and goes.
void Yield(Cluster& c, JobId job) {
  c.EditAll(job, [](ObservedTask& task) {
    task.ranks[0].leaving = task.ranks[0].yielded = true;
    ScriptedAgent::Release(task, 0);
  });
}

// A program that misreads begin_step came back 94 times in a minute.
TEST(Yield, WhoComesBackAndDoesNothingWaitsLongerEachTimeUpToTenMinutes) {
  Cluster c;
  const JobId job = c.Submit(Spec(1));
  const Duration pauses[] = {Seconds(30), Minutes(1), Minutes(2), Minutes(4), Minutes(8), Minutes(10), Minutes(10)};
  std::uint32_t yields = 0;
  for (const Duration pause : pauses) {
    c.Settle();
    ASSERT_EQ(c.job(job).state, JobState::kRunning) << yields;
    Yield(c, job);
    EXPECT_EQ(c.job(job).idle_yields, ++yields);
    EXPECT_EQ(c.job(job).not_before, c.now() + pause);
    EXPECT_NE(c.job(job).message.find("without a step or a save"), std::string::npos) << c.job(job).message;
    c.Advance(pause - Milliseconds(1));
    EXPECT_EQ(c.job(job).state, JobState::kQueued);
    c.Advance(Milliseconds(1));
  }
  EXPECT_EQ(c.job(job).restarts, 0u) << "no node has failed";
}

TEST(Yield, ThePauseIsTheSpecsOwnAndNeverNone) {
  EXPECT_EQ(YieldPause(SpecWith(1, [](JobSpec& s) { s.restart_backoff = {}; }), 1), Seconds(1));
  EXPECT_EQ(YieldPause(SpecWith(1, [](JobSpec& s) { s.restart_backoff = {}; }), 4), Seconds(8));
  EXPECT_EQ(YieldPause(SpecWith(1, [](JobSpec& s) { s.restart_backoff = Hours(1); }), 9), Hours(1));
}

struct Deed {
  const char* what;
  std::function<void(Cluster&, JobId)> act;
};

const Deed kDeeds[] = {
    {"a step", [](Cluster& c, JobId job) { c.Step(job, 1); }},
    {"a save", [](Cluster& c, JobId job) { c.Save(job, 1); }},
    {"min_run", [](Cluster& c, JobId job) { c.Advance(MinRunOf(c.policy(), c.job(job))); }},
};

TEST(Yield, WhoDidSomethingComesBackAtOnce) {
  for (const Deed& deed : kDeeds) {
    SCOPED_TRACE(deed.what);
    Cluster c;
    const JobId job = c.Submit(Spec(1));
    c.Settle();
    Yield(c, job);
    ASSERT_EQ(c.job(job).idle_yields, 1u);
    c.Advance(Seconds(30));
    c.Settle();  // it has just begun: nothing but the deed speaks for it
    deed.act(c, job);
    Yield(c, job);
    EXPECT_EQ(c.job(job).idle_yields, 0u) << "and its earlier ones are forgotten";
    EXPECT_EQ(c.job(job).state, JobState::kStarting) << "there is room";
  }
}

TEST(Yield, ARoundThatWasWithdrawnIsNoExcuse) {
  Cluster c;
  const JobId job = c.Submit(Spec(2));
  c.Settle();
  c.Advance(MinRunOf(c.policy(), c.job(job)));
  c.Cancel(c.Submit(Spec(2, PriorityClass::kHigh), "bob"), "bob");
  ASSERT_EQ(c.agreement(job).state, AgreementState::kWithdrawn);
  Yield(c, job);
  EXPECT_EQ(c.job(job).quantum_doublings, 0u) << "nobody asked it to leave";
  ASSERT_EQ(c.attempt(job, 1).outcome, Outcome::kInterrupted);
  EXPECT_TRUE(IsYield(c.attempt(job, 1)));
}

TEST(Yield, LeavingInsideAnOpenRoundIsNone) {
  Cluster c;
  const JobId job = c.Submit(Spec(2));
  c.Settle();
  c.Suspend(job);
  c.EditAll(job, [](ObservedTask& task) {
    task.ranks[0].leaving = task.ranks[0].yielded = true;
    ScriptedAgent::Release(task, 0);
  });
  EXPECT_EQ(c.job(job).state, JobState::kHeld);
  EXPECT_EQ(c.job(job).idle_yields, 0u);
}

void LoseNode(Cluster& c, JobId job) {
  c.Edit(job, 0, [](ObservedTask& task) {
    task.lost = true;
    task.phase = TaskPhase::kReleased;
  });
  c.Advance(Milliseconds(1));
  c.Settle();
}

TEST(RestartMax, CountsTheRestartsSinceTheLastDurableSave) {
  Cluster c;
  c.policy().health.lemons.cordon_times = 0;  // not what this is about
  const JobId job = c.Running(SpecWith(1, [](JobSpec& s) {
    s.restart_max = 2;
    s.restart_backoff = {};
  }));
  for (std::int64_t round = 1; round <= 5; ++round) {
    LoseNode(c, job);
    LoseNode(c, job);
    ASSERT_EQ(c.job(job).state, JobState::kRunning) << round;
    c.Save(job, round);
    EXPECT_EQ(c.job(job).restarts_since_save, 0u);
  }
  EXPECT_EQ(c.job(job).restarts, 10u) << "all of them are still told";
  for (int i = 0; i < 3; ++i) LoseNode(c, job);
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
  EXPECT_NE(c.job(job).message.find("restart.max is reached: 2 without a durable save in between"), std::string::npos)
      << c.job(job).message;
}

// A job that never saves, and is interrupted whenever its quantum is over.
struct NeverSaves {
  NeverSaves() {
    job = c.Running(Spec(2));
    c.script(job).saves = false;
  }
  // A more urgent job takes its nodes after this time and gives them back.
  void InterruptAfter(Duration ran) {
    c.Advance(ran);
    const JobId urgent = c.Submit(Spec(2, PriorityClass::kHigh), "bob");
    c.Settle();
    c.Finish(urgent);
    c.Settle();
    ASSERT_EQ(c.job(job).state, JobState::kRunning);
  }
  Cluster c;
  JobId job;
};

TEST(CostlyInterrupts, EachDoublesTheJobsQuantumUpToADay) {
  NeverSaves n;
  const Duration quanta[] = {Minutes(15), Minutes(30), Hours(1),  Hours(2), Hours(4),
                             Hours(8),    Hours(16),   Hours(24), Hours(24)};
  for (const Duration quantum : quanta) {
    EXPECT_EQ(n.c.attempt(n.job).quantum, quantum);
    n.InterruptAfter(quantum + Minutes(1));
  }
  EXPECT_EQ(ProtectionInWords(n.c.policy(), n.c.job(n.job)),
            "9 interrupts lost more than a quantum: its class leaves an attempt alone for 1d at least, not 15m; saves "
            "would spare it that");
}

TEST(CostlyInterrupts, WhatLosesLessThanAQuantumDoublesNothing) {
  NeverSaves early;
  early.InterruptAfter(Minutes(10));
  EXPECT_EQ(early.c.job(early.job).quantum_doublings, 0u);
  NeverSaves periodic;  // it does not save when asked, but has saved a while ago
  periodic.c.Advance(Hours(3));
  periodic.c.Save(periodic.job, 100);
  periodic.InterruptAfter(Minutes(10));
  EXPECT_EQ(periodic.c.job(periodic.job).quantum_doublings, 0u);
  NeverSaves saves;
  saves.c.script(saves.job).saves = true;
  saves.InterruptAfter(Hours(3));
  EXPECT_EQ(saves.c.job(saves.job).quantum_doublings, 0u);
  EXPECT_EQ(ProtectionInWords(saves.c.policy(), saves.c.job(saves.job)), "");
}

// Else a user would get long quanta by suspending and resuming.
TEST(CostlyInterrupts, ItsUsersSuspendIsNone) {
  NeverSaves n;
  n.c.Advance(Hours(1));
  n.c.Suspend(n.job);
  n.c.Settle();
  EXPECT_EQ(n.c.job(n.job).state, JobState::kHeld);
  EXPECT_EQ(n.c.job(n.job).quantum_doublings, 0u);
}

}  // namespace
}  // namespace glim::core
