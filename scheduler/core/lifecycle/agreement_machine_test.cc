// The agreement on the step to stop at: docs/protocols/interrupt.md.
#include "scheduler/core/lifecycle/agreement_machine.h"

#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::ScriptedAgent;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

// Job 1 runs on both nodes of a cluster, at step 100; job 2, more urgent, waits for them.
struct Interrupted {
  explicit Interrupted(JobSpec spec = Spec(2)) {
    job = c.Running(std::move(spec));
    c.Step(job, 100);
    requested = c.now();
    urgent = c.Submit(SpecWith(2,
                               [](JobSpec& s) {
                                 s.name = "urgent";
                                 s.priority = PriorityClass::kHigh;
                               }),
                      "bob");
  }
  const Agreement& agreement() const { return c.agreement(job); }
  Cluster c;
  JobId job, urgent;
  TimePoint requested;
};

TEST(Agreement, TellsWhoNeedsTheNodesAndUntilWhen) {
  Interrupted i;
  EXPECT_EQ(i.agreement().id, 1u);
  EXPECT_EQ(i.agreement().state, AgreementState::kNotifying);
  EXPECT_EQ(i.agreement().preemptor, i.c.attempt(i.urgent).id);
  EXPECT_EQ(i.agreement().preemptor_name, "urgent");
  EXPECT_EQ(i.agreement().preemptor_user, "bob");
  EXPECT_EQ(i.agreement().reason, "job 2 urgent (high, user bob) needs 2 nodes");
  EXPECT_EQ(i.agreement().requested_at, i.requested);
  EXPECT_EQ(i.agreement().agree_by, i.requested + Seconds(10));
  EXPECT_EQ(i.agreement().deadline, i.requested + Seconds(60));
  EXPECT_EQ(i.c.job(i.job).state, JobState::kInterrupting);
  EXPECT_EQ(i.c.job(i.job).interrupts, 1u);
}

TEST(Agreement, TheStepIsTheHighestHoldOfAllRanks) {
  Interrupted i;
  i.c.Ack(i.job, 0, 105);
  EXPECT_EQ(i.agreement().state, AgreementState::kNotifying) << "every declared rank is needed";
  EXPECT_EQ(i.agreement().stop_step, -1);
  i.c.Ack(i.job, 1, 103);
  EXPECT_EQ(i.agreement().state, AgreementState::kAgreed);
  EXPECT_EQ(i.agreement().stop_step, 105);
  EXPECT_EQ(i.agreement().agreed_at, i.c.now());
  EXPECT_EQ(i.c.unsynced().size(), 2u);
}

TEST(Agreement, RanksThatNeverConnectedAreNeededToo) {
  Interrupted i(SpecWith(2, [](JobSpec& s) { s.launcher = Launcher::kPerGpu; }));
  i.c.Ack(i.job, 0, 105);
  i.c.Edit(i.job, 1, [&](ObservedTask& task) {
    for (Rank& rank : task.ranks) {
      rank.connected = rank.rank != 15;
      rank.acked_agreement = rank.rank == 15 ? 0 : i.agreement().id;
      rank.hold = 101;
    }
  });
  EXPECT_EQ(i.agreement().state, AgreementState::kNotifying);
}

TEST(Agreement, ARankWithoutARowIsNeededToo) {
  Interrupted i;
  i.c.Ack(i.job, 0, 105);
  Task task = i.c.task(i.job, 1);
  task.ranks.clear();
  i.c.state().Put(task);
  Apply(i.c.state(), i.c.policy(), Event{0, i.c.now(), TimePassed{}});
  EXPECT_EQ(i.agreement().state, AgreementState::kNotifying);
}

TEST(Agreement, AnAcknowledgementOfAnotherAgreementDoesNotCount) {
  Interrupted i;
  i.c.Ack(i.job, 0, 101);
  i.c.Edit(i.job, 1, [](ObservedTask& task) {
    task.ranks[0].acked_agreement = 7;
    task.ranks[0].hold = 500;
  });
  EXPECT_EQ(i.agreement().state, AgreementState::kNotifying);
}

TEST(Agreement, TheStepNeverChanges) {
  Interrupted i;
  i.c.Ack(i.job, 0, 101);
  i.c.Ack(i.job, 1, 102);
  for (const std::int64_t late : {110, 90}) {
    i.c.Ack(i.job, 0, late);
    EXPECT_EQ(i.agreement().stop_step, 102);
    EXPECT_EQ(i.agreement().state, AgreementState::kAgreed);
  }
  i.c.Advance(Seconds(20));
  EXPECT_EQ(i.agreement().stop_step, 102);
  i.c.Cancel(i.urgent, "bob");
  EXPECT_EQ(i.agreement().stop_step, 102);
}

// A rank whose steps are over holds nobody back and asks for nothing.
TEST(Agreement, AFinishedRankSuitsAnyStep) {
  Interrupted i;
  i.c.Edit(i.job, 0, [](ObservedTask& task) {
    task.ranks[0].finished = true;
    task.ranks[0].step = 99;
  });
  i.c.Ack(i.job, 1, 104);
  EXPECT_EQ(i.agreement().state, AgreementState::kAgreed);
  EXPECT_EQ(i.agreement().stop_step, 104);
}

TEST(Agreement, IfAllRanksHaveFinishedTheirLastStepIsTheStep) {
  Interrupted i;
  i.c.EditAll(i.job, [](ObservedTask& task) { task.ranks[0].finished = true; });
  EXPECT_EQ(i.agreement().state, AgreementState::kAgreed);
  EXPECT_EQ(i.agreement().stop_step, 100);
}

TEST(Agreement, AnExitedRankSuitsAnyStepToo) {
  Interrupted i;
  i.c.Exit(i.job, 0, 0);
  i.c.Ack(i.job, 1, 104);
  EXPECT_EQ(i.agreement().stop_step, 104);
}

struct AgreeBy {
  Duration grace;
  Duration agree;
};

TEST(Agreement, NoAgreementWithoutAFullSetInTime) {
  // min(10 s, grace / 4)
  const AgreeBy kRows[] = {{Seconds(60), Seconds(10)}, {Seconds(20), Seconds(5)}, {Seconds(300), Seconds(10)}};
  for (const AgreeBy& row : kRows) {
    Interrupted i(SpecWith(2, [&](JobSpec& s) { s.grace = row.grace; }));
    i.c.Ack(i.job, 0, 101);
    i.c.Advance(row.agree - Milliseconds(1));
    EXPECT_EQ(i.agreement().state, AgreementState::kNotifying);
    i.c.Advance(Milliseconds(1));
    EXPECT_EQ(i.agreement().state, AgreementState::kNoAgreement);
    EXPECT_EQ(i.c.unsynced().size(), 2u) << "the agents are told";
    i.c.Ack(i.job, 1, 101);
    EXPECT_EQ(i.agreement().state, AgreementState::kNoAgreement) << "a late acknowledgement changes nothing";
    EXPECT_EQ(i.agreement().stop_step, -1);
  }
}

TEST(Agreement, TheDeadlineStopsWhoeverHasNotLeft) {
  Interrupted i;
  i.c.script(i.job).leaves = false;
  i.c.Settle();
  i.c.Advance(Seconds(60) - Milliseconds(1));
  EXPECT_EQ(i.c.attempt(i.job).stop, StopCause::kNone);
  i.c.Advance(Milliseconds(1));
  EXPECT_EQ(i.c.attempt(i.job).stop, StopCause::kDeadline);
  i.c.Settle();
  EXPECT_EQ(i.c.job(i.urgent).state, JobState::kRunning);
}

TEST(Agreement, NoGraceIsAnImmediateStop) {
  Interrupted i(SpecWith(2, [](JobSpec& s) { s.grace = s.max_grace = {}; }));
  EXPECT_EQ(i.c.attempt(i.job).stop, StopCause::kDeadline);
}

TEST(Extension, MovesTheDeadlineUpToMaxGrace) {
  const std::pair<Duration, Duration> kRows[] = {
      {Seconds(30), Seconds(60)},    // less than the grace takes nothing away
      {Seconds(120), Seconds(120)},  // counted from the request
      {Seconds(300), Seconds(300)},
      {Hours(5), Seconds(300)},  // cut to max_grace
  };
  for (const auto& [asked, granted] : kRows) {
    Interrupted i;
    i.c.Advance(Seconds(5));
    i.c.Edit(i.job, 1, [&asked = asked](ObservedTask& task) { task.ranks[0].extend = asked; });
    EXPECT_EQ(i.agreement().deadline, i.requested + granted);
  }
}

TEST(Extension, IsNeverTakenBack) {
  Interrupted i;
  i.c.Edit(i.job, 0, [](ObservedTask& task) { task.ranks[0].extend = Seconds(200); });
  i.c.Edit(i.job, 0, [](ObservedTask& task) { task.ranks[0].extend = Seconds(70); });
  EXPECT_EQ(i.agreement().deadline, i.requested + Seconds(200));
}

TEST(Withdrawal, IsPossibleOnlyBeforeTheStepIsAgreed) {
  Interrupted i;
  i.c.Ack(i.job, 0, 101);
  i.c.Cancel(i.urgent, "bob");
  EXPECT_EQ(i.agreement().state, AgreementState::kWithdrawn);
  EXPECT_EQ(i.c.job(i.job).state, JobState::kRunning);
  EXPECT_EQ(i.c.job(i.job).interrupts, 0u) << "it was never interrupted";
  i.c.Ack(i.job, 1, 101);
  EXPECT_EQ(i.agreement().state, AgreementState::kWithdrawn);
  EXPECT_EQ(i.agreement().stop_step, -1);
}

TEST(Withdrawal, TheNextInterruptIsAnAgreementOfItsOwn) {
  Interrupted i;
  i.c.Ack(i.job, 0, 150);
  i.c.Cancel(i.urgent, "bob");
  const JobId next = i.c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  EXPECT_EQ(i.agreement().id, 2u);
  i.c.Ack(i.job, 1, 102);
  EXPECT_EQ(i.agreement().state, AgreementState::kNotifying) << "rank 0 acknowledged agreement 1";
  i.c.Ack(i.job, 0, 103);
  EXPECT_EQ(i.agreement().stop_step, 103);
  i.c.Settle();
  EXPECT_EQ(i.c.job(next).state, JobState::kRunning);
}

TEST(SwapAborted, AfterTheStepItLeavesAllTheSameAndComesFirst) {
  Interrupted i;
  const JobId earlier = i.c.Submit(Spec(2), "eve");
  i.c.Ack(i.job, 0, 101);
  i.c.Ack(i.job, 1, 101);
  i.c.Cancel(i.urgent, "bob");
  EXPECT_EQ(i.agreement().state, AgreementState::kAgreed);
  EXPECT_TRUE(i.agreement().swap_aborted);
  i.c.Settle();
  EXPECT_EQ(i.c.attempt(i.job, 1).save, SaveResult::kSaved);
  EXPECT_EQ(i.c.job(i.job).state, JobState::kRunning) << "first claim on what it left";
  EXPECT_EQ(i.c.attempt(i.job).id.number, 2u);
  EXPECT_EQ(i.c.job(earlier).state, JobState::kQueued);
}

// Two jobs wait for one victim: the one that goes away must not strand the other.
TEST(Withdrawal, NotWhileSomebodyElseWaitsForTheVictim) {
  Cluster c;
  const JobId victim = c.Running(Spec(2));
  const JobId first = c.Submit(Spec(1, PriorityClass::kHigh), "bob");
  const JobId second = c.Submit(Spec(1, PriorityClass::kHigh), "eve");
  ASSERT_EQ(c.attempt(first).state, AttemptState::kClaimed);
  ASSERT_EQ(c.attempt(second).state, AttemptState::kClaimed);
  c.Cancel(first, "bob");
  EXPECT_EQ(c.agreement(victim).state, AgreementState::kNotifying) << "job 3 still needs its node";
  EXPECT_EQ(c.agreement(victim).preemptor, c.attempt(second).id);
  EXPECT_EQ(c.agreement(victim).preemptor_user, "eve");
  c.Settle();
  EXPECT_EQ(c.job(second).state, JobState::kRunning);
}

TEST(SignalMode, ThereIsNoAgreementToReach) {
  Interrupted i(SpecWith(2, [](JobSpec& s) { s.interrupt_mode = InterruptMode::kSignal; }));
  EXPECT_EQ(i.agreement().state, AgreementState::kSignalled);
  i.c.Advance(Seconds(30));
  EXPECT_EQ(i.agreement().state, AgreementState::kSignalled);
  i.c.Exit(i.job, 0, 143);
  EXPECT_EQ(i.c.attempt(i.job).stop, StopCause::kNone) << "an answered signal is not a failure";
  i.c.Exit(i.job, 1, 1);
  EXPECT_EQ(i.c.attempt(i.job).outcome, Outcome::kInterrupted);
  EXPECT_EQ(i.c.job(i.job).state, JobState::kQueued);
}

TEST(SignalMode, TheSignalCannotBeTakenBack) {
  Interrupted i(SpecWith(2, [](JobSpec& s) { s.interrupt_mode = InterruptMode::kSignal; }));
  i.c.Cancel(i.urgent, "bob");
  EXPECT_EQ(i.agreement().state, AgreementState::kSignalled);
  EXPECT_TRUE(i.agreement().swap_aborted);
}

// `grace: 0s` is no time at all, not the default.
TEST(Grace, NoneEndsTheAttemptAtTheRequest) {
  Interrupted i(SpecWith(2, [](JobSpec& s) { s.grace = s.max_grace = {}; }));
  EXPECT_EQ(i.agreement().deadline, i.requested);
  EXPECT_EQ(i.c.attempt(i.job).stop, StopCause::kDeadline);
}

// An operator lowers the cap: who waits has it from its dispatch on, and who runs from its next round on.
TEST(Grace, IsCutToTheClasssCapWhenARoundOpens) {
  const JobSpec patient = SpecWith(2, [](JobSpec& s) { s.grace = s.max_grace = Minutes(5); });
  Cluster c;
  const JobId job = c.Running(patient);
  c.policy().grace_cap.by_class[PriorityClass::kNormal] = Seconds(40);
  c.policy().max_grace_cap.by_class[PriorityClass::kNormal] = Seconds(50);
  const TimePoint requested = c.now();
  c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  EXPECT_EQ(c.agreement(job).deadline, requested + Seconds(40));
  c.Edit(job, 0, [](ObservedTask& task) { task.ranks[0].extend = Minutes(5); });
  EXPECT_EQ(c.agreement(job).deadline, requested + Seconds(50)) << "and so is what the job asks for";
}

// It counts as low for its eviction, and `glim status` says so.
TEST(Grace, OfWhatIsBorrowedIsCutToTheCapOfLow) {
  Cluster c;
  c.policy().grace_cap.by_class[PriorityClass::kLow] = Seconds(20);
  c.policy().max_grace_cap.by_class[PriorityClass::kLow] = Seconds(30);
  c.SetQuota("ann", PriorityClass::kNormal, 1);
  const JobId job = c.Running(Spec(2));
  ASSERT_TRUE(c.attempt(job).borrowed);
  const TimePoint requested = c.now();
  c.Submit(Spec(2), "bob");
  EXPECT_EQ(c.agreement(job).deadline, requested + Seconds(20));
  c.Edit(job, 0, [](ObservedTask& task) { task.ranks[0].extend = Minutes(5); });
  EXPECT_EQ(c.agreement(job).deadline, requested + Seconds(30));
}

TEST(Grace, ASubmissionAboveTheCapIsRefusedWithIt) {
  Cluster c;
  const JobSpec spec = SpecWith(1, [](JobSpec& s) { s.grace = s.max_grace = Hours(24); });
  const Reply reply = c.Do(SubmitJobs{"ann", "team", "", {spec}, false});
  EXPECT_EQ(reply.status.field(), "interrupt.grace");
  EXPECT_EQ(reply.status.message(), "1d is more than jobs of class normal may have, 5m");
}

// Whoever submits and cancels urgent jobs all day does not make the rows of others grow.
TEST(Agreement, OnlyTheNewestAreKeptAndTheirNumbersGoOn) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  for (int i = 0; i < 50; ++i) c.Cancel(c.Submit(Spec(2, PriorityClass::kHigh), "bob"), "bob");
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(c.job(job).interrupts, 0u);
  EXPECT_EQ(c.attempt(job).agreements.size(), kAgreementsKept);
  c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  EXPECT_EQ(c.agreement(job).id, 51u) << "a rank that answered an earlier one has not answered this one";
  EXPECT_EQ(c.attempt(job).agreements.size(), kAgreementsKept);
}

TEST(SuspendAgreement, HasNoPreemptorAndIsNotWithdrawn) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Suspend(job);
  EXPECT_TRUE(c.agreement(job).suspend);
  EXPECT_FALSE(c.agreement(job).preemptor);
  EXPECT_EQ(c.job(job).state, JobState::kSuspending);
}

TEST(SuspendAgreement, JoinsAnInterruptThatIsUnderWay) {
  Interrupted i;
  i.c.Ack(i.job, 0, 101);
  i.c.Suspend(i.job);
  EXPECT_EQ(i.c.attempt(i.job).agreements.size(), 1u);
  EXPECT_EQ(i.agreement().preemptor, i.c.attempt(i.urgent).id);
  EXPECT_EQ(i.agreement().deadline, i.requested + Seconds(60));
  EXPECT_EQ(i.c.job(i.job).interrupts, 1u);
  i.c.Cancel(i.urgent, "bob");
  EXPECT_EQ(i.agreement().state, AgreementState::kNotifying) << "the user still wants it";
  i.c.Settle();
  EXPECT_EQ(i.c.job(i.job).state, JobState::kHeld);
}

TEST(LeaderChange, NobodyIsKilledForTheTimeWithoutALeader) {
  Interrupted i;
  i.c.Ack(i.job, 0, 101);
  i.c.SetNow(i.c.now() + Hours(2));
  i.c.Do(LeaderStarted{});
  EXPECT_EQ(i.agreement().agree_by, i.c.now() + Seconds(10));
  EXPECT_EQ(i.agreement().deadline, i.c.now() + Seconds(60));
  EXPECT_EQ(i.agreement().state, AgreementState::kNotifying);
  EXPECT_EQ(i.c.attempt(i.job).stop, StopCause::kNone);
}

TEST(LeaderChange, WhatWasGivenIsNotCutByTermsThatCameLater) {
  Interrupted i(SpecWith(2, [](JobSpec& s) { s.grace = Seconds(200); }));
  const Duration given = i.agreement().deadline - i.requested;
  ASSERT_EQ(given, Seconds(200));
  i.c.policy().grace_cap = {Seconds(30), {}};
  i.c.SetNow(i.c.now() + Hours(2));
  i.c.Do(LeaderStarted{});
  EXPECT_EQ(i.agreement().deadline, i.c.now() + given) << "the ranks were told of it";
}

TEST(LeaderChange, AGrantedExtensionIsNotCut) {
  Interrupted i;
  i.c.Edit(i.job, 0, [](ObservedTask& task) { task.ranks[0].extend = Seconds(300); });
  i.c.Do(LeaderStarted{});
  EXPECT_EQ(i.agreement().deadline, i.requested + Seconds(300));
  i.c.SetNow(i.c.now() + Hours(1));
  i.c.Do(LeaderStarted{});
  EXPECT_EQ(i.agreement().deadline, i.c.now() + Seconds(300));
}

}  // namespace
}  // namespace glim::core
