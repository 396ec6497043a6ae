// What attempts that leave by themselves, and interrupts that lose much, change for the job's next attempts.
#include "scheduler/core/lifecycle/yield.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "scheduler/core/model/interrupt_terms.h"
#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::ScriptedAgent;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

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
    EXPECT_NE(c.job(job).message.find("without a save"), std::string::npos) << c.job(job).message;
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

// It reported step 0 and left, 101 times in a minute.
TEST(Yield, AStepAloneIsNothing) {
  Cluster c;
  const JobId job = c.Submit(Spec(1));
  c.Settle();
  const TimePoint begin = c.now();
  while (c.now() < begin + Minutes(2)) {
    if (c.job(job).state == JobState::kRunning) {
      c.Step(job, 1'000);
      Yield(c, job);
    }
    c.Advance(Seconds(1));
    c.Settle();
  }
  EXPECT_EQ(c.job(job).attempts, 3u) << "after 30 and after 60 seconds";
  EXPECT_EQ(c.job(job).idle_yields, 3u);
}

// That it saved is its own word as well. Once is once: a program may have been at its end.
TEST(Yield, WhoSavesEachTimeAndLeavesAgainBeginsOnceInAMinRun) {
  Cluster c;
  const JobId job = c.Submit(Spec(1));
  c.Settle();
  const TimePoint begin = c.now();
  std::int64_t step = 0;
  while (c.now() < begin + Minutes(1)) {
    if (c.job(job).state == JobState::kRunning) {
      c.Save(job, ++step);
      Yield(c, job);
    }
    c.Advance(Seconds(1));
    c.Settle();
  }
  EXPECT_LE(c.job(job).attempts, 8u) << "a minute is six times the min_run";
  EXPECT_GE(c.job(job).attempts, 6u) << "and this is no punishment";
  EXPECT_EQ(c.job(job).idle_yields, 0u);
  EXPECT_NE(c.job(job).message.find("soon after its start, again: the next attempt waits for"), std::string::npos)
      << c.job(job).message;
  EXPECT_EQ(c.job(job).durable.step, step);
}

TEST(Yield, ASaveOfTheStepThatItWentOnFromIsNothing) {
  Cluster c;
  const JobId job = c.Running(Spec(1));
  c.Save(job, 7);
  Yield(c, job);
  c.Settle();
  ASSERT_EQ(c.attempt(job).base.step, 7);
  c.Save(job, 7);
  Yield(c, job);
  EXPECT_EQ(c.job(job).idle_yields, 1u);
}

// What a job says of its restores must not make its runs long.
TEST(Yield, AtLeastTheMinRunOfAnUnknownJobCounts) {
  Cluster c;
  const JobId job = c.Submit(Spec(1));
  c.Settle();
  c.Edit(job, 0, [](ObservedTask& task) {
    task.ranks[0].restored_step = 0;
    task.ranks[0].restore_time = Milliseconds(1);
  });
  c.Advance(DefaultMinRun(c.policy()) - Milliseconds(1));
  Yield(c, job);
  EXPECT_EQ(c.job(job).idle_yields, 1u);
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
  explicit NeverSaves(Policy policy = {}) : c({}, std::move(policy)) {
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

// A policy may give moments, or nothing: a job that never saves ends all the same.
TEST(CostlyInterrupts, AQuantumOfSecondsIsDoubledToo) {
  for (const Duration quantum : {Duration{}, Seconds(20)}) {
    Policy policy;
    policy.quantum_min = quantum;
    NeverSaves n(policy);
    n.InterruptAfter(Seconds(30));
    EXPECT_EQ(n.c.attempt(n.job).quantum, Minutes(2));
  }
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

// --- Interrupts that came to nothing.
// Job 1 runs for this long; then its nodes are asked for by a job of this user, which goes away when it is too late.
struct Aborted {
  explicit Aborted(const std::string& preemptors_user, Duration ran = Minutes(13)) {
    job = c.Submit(Spec(2), "eve");
    c.Settle();
    c.Advance(ran);
    other = c.Submit(Spec(2), "ann");
    Again(preemptors_user);
  }
  void Again(const std::string& user) {
    const JobId urgent = c.Submit(Spec(2, PriorityClass::kHigh), user);
    for (const std::uint32_t index : {0u, 1u}) c.Ack(job, index, c.attempt(job).last_step + 1);
    ASSERT_EQ(c.agreement(job).state, AgreementState::kAgreed);
    c.Cancel(urgent, user);
    ASSERT_TRUE(c.agreement(job).swap_aborted);
    c.Settle();
  }
  Cluster c{Zones{}, testing::Patient()};
  JobId job, other;
};

TEST(AbortedSwap, TheJobGoesOnWhereItWasWithWhatWasLeftOfItsQuantum) {
  Aborted a("bob");
  ASSERT_EQ(a.c.job(a.job).state, JobState::kRunning) << "it comes first in its class";
  EXPECT_EQ(a.c.attempt(a.job).quantum, a.c.policy().quantum_min - Minutes(13));
  a.c.Advance(Minutes(1));
  a.Again("bob");
  ASSERT_EQ(a.c.job(a.job).state, JobState::kRunning);
  EXPECT_EQ(a.c.attempt(a.job).quantum, a.c.policy().quantum_min - Minutes(14));
}

TEST(AbortedSwap, ByAJobOfItsOwnUserGivesNoFirstPlace) {
  Aborted a("eve");
  EXPECT_FALSE(a.c.job(a.job).swap_aborted);
  EXPECT_EQ(a.c.job(a.other).state, JobState::kRunning) << "who waited longer";
}

// With one node at a higher class she kept ann waiting until the starvation bound.
TEST(AbortedSwap, WhoPreemptsThemselvesAgainAndAgainKeepsNobodyWaiting) {
  const auto waited = [](bool preempts_herself) {
    Cluster c(Zones{.nodes = 1}, testing::Patient());
    const JobId job = c.Submit(Spec(1), "eve");
    c.Settle();
    c.Advance(Minutes(1));
    const JobId ann = c.Submit(Spec(1), "ann");
    const TimePoint since = c.now();
    while (c.job(ann).state == JobState::kQueued && c.now() < since + Hours(30)) {
      c.Advance(Minutes(13));
      c.Settle();
      if (!preempts_herself || c.job(job).state != JobState::kRunning) continue;
      const JobId urgent = c.Submit(Spec(1, PriorityClass::kHigh), "eve");
      c.Ack(job, 0, c.attempt(job).last_step + 1);
      c.Cancel(urgent, "eve");
      c.Settle();
    }
    return c.now() - since;
  };
  EXPECT_LE(waited(true), waited(false));
}

// The preemptor went away, and a rank had left already: it is asked again, for nobody.
TEST(AbortedSwap, OpenedAgainItIsStillItsOwnUsersDoing) {
  Attempt ended;
  Agreement& withdrawn = ended.agreements.emplace_back();
  withdrawn.state = AgreementState::kWithdrawn;
  withdrawn.preemptor_user = "eve";
  Agreement& again = ended.agreements.emplace_back();
  again.state = AgreementState::kEnded;
  again.swap_aborted = true;
  EXPECT_FALSE(ComesFirst(testing::JobRow(1, Spec(1), "eve"), ended));
  EXPECT_TRUE(ComesFirst(testing::JobRow(1, Spec(1), "ann"), ended));
}

TEST(AbortedSwap, WhoHasWaitedForAQuantumSinceHasAWholeOne) {
  Attempt last;
  last.outcome = Outcome::kInterrupted;
  last.started_at = TimePoint{Hours(1).ms};
  last.quantum = Minutes(15);
  last.ended_at = last.started_at + Minutes(10);
  Agreement& agreement = last.agreements.emplace_back();
  agreement.state = AgreementState::kEnded;
  agreement.swap_aborted = true;
  agreement.preemptor = {JobId(9), 1};
  const Policy policy;
  EXPECT_EQ(QuantumLeft(policy, &last, Hours(4), last.ended_at), Minutes(5));
  EXPECT_EQ(QuantumLeft(policy, &last, Minutes(2), last.ended_at), Minutes(2));
  EXPECT_EQ(QuantumLeft(policy, &last, Hours(4), last.ended_at + policy.quantum_min), Hours(4));
  EXPECT_EQ(QuantumLeft(policy, nullptr, Hours(4), last.ended_at), Hours(4));
  agreement.swap_aborted = false;
  EXPECT_EQ(QuantumLeft(policy, &last, Hours(4), last.ended_at), Hours(4));
}

// A rest of a quantum is no reason for a longer one.
TEST(AbortedSwap, WhatIsLeftOfAQuantumIsNoneToLose) {
  Aborted a("bob");
  a.c.script(a.job).saves = false;
  a.c.Advance(Minutes(6));
  a.c.Cancel(a.other, "ann");
  a.c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  a.c.Settle();
  ASSERT_EQ(a.c.job(a.job).state, JobState::kQueued);
  EXPECT_EQ(a.c.job(a.job).quantum_doublings, 0u);
}

// It was to be moved, and the interrupt was taken back: what it does later it does by itself.
TEST(AbortedSwap, AWithdrawnInterruptSaysNothingOfALaterYield) {
  Cluster c(Zones{.zones = 2, .nodes = 4}, testing::Patient());
  const JobId first = c.Running(SpecWith(2, [](JobSpec& s) { s.placement.zones = {"z1"}; }));
  const JobId in_a = c.Running(Spec(2));
  c.Running(Spec(2));
  c.Advance(c.policy().quantum_min);
  c.Finish(first);
  const JobId large = c.Submit(Spec(4));
  ASSERT_TRUE(c.agreement(in_a).moved);
  c.Cancel(large);
  ASSERT_EQ(c.agreement(in_a).state, AgreementState::kWithdrawn);
  c.Save(in_a, 5);
  Yield(c, in_a);
  ASSERT_EQ(c.attempt(in_a, 1).outcome, Outcome::kInterrupted);
  EXPECT_FALSE(c.job(in_a).swap_aborted);
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
