// What a node runs and the store does not know is left alone, and no job of the store runs beside its own.
#include "scheduler/core/lifecycle/orphans.h"
#include "scheduler/core/lifecycle/desired.h"
#include "scheduler/core/model/save_reach.h"
#include "scheduler/core/testing/cluster_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;
using testing::Zones;

// All that the node runs, its agent says, and shows receipts of.
NodeReported RunsAll(Cluster& c, NodeId node, const std::vector<AttemptId>& attempts, bool receipts = true) {
  NodeReported report{node, c.session(node), true, {}};
  for (const AttemptId attempt : attempts) {
    ObservedTask& task = report.tasks.emplace_back();
    task.id = {attempt, 0};
    task.phase = TaskPhase::kRunning;
    task.receipt = receipts;
  }
  return report;
}

// It says the same, and nobody has given it any of that.
NodeReported Claims(Cluster& c, NodeId node, const std::vector<AttemptId>& attempts) {
  return RunsAll(c, node, attempts, false);
}

TEST(Orphans, AreLeftRunningAndTheirNodeIsNotUsed) {
  Cluster c(Zones{.nodes = 1});
  const AttemptId stranger{JobId(55), 2};
  c.Do(RunsAll(c, NodeId(1), {stranger}));
  EXPECT_EQ(c.node(NodeId(1)).orphans, std::vector{stranger});
  EXPECT_TRUE(DesiredFor(c.state().tables(), NodeId(1)).empty()) << "absence never kills";
  const JobId job = c.Submit(Spec(1));
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
  c.Do(RunsAll(c, NodeId(1), {stranger}));
  EXPECT_EQ(c.Noted(HistoryKind::kOrphan), 1) << "told once";
  c.Do(RunsAll(c, NodeId(1), {}));
  EXPECT_TRUE(c.node(NodeId(1)).orphans.empty());
  EXPECT_EQ(c.job(job).state, JobState::kStarting);
}

TEST(Orphans, NoJobOfOursGetsTheirNumber) {
  Cluster c;
  c.Do(RunsAll(c, NodeId(1), {{JobId(55), 2}, {JobId(~0ULL), 1}}));
  EXPECT_EQ(c.Submit(Spec(1)), JobId(56));
}

TEST(Orphans, ANumberFarBeyondTheStoresOwnUsesUpNoOthers) {
  Cluster c;
  c.Do(RunsAll(c, NodeId(1), {{JobId(1'000'010), 1}}));
  EXPECT_EQ(c.Submit(Spec(1)), JobId(1));
  c.Do(RunsAll(c, NodeId(1), {{JobId(1'000'010), 1}, {JobId(1'000'000), 1}}));
  EXPECT_EQ(c.Submit(Spec(1)), JobId(1'000'001));
}

// Whoever has a node's key may say anything of other nodes' jobs.
TEST(OrphansWithoutAReceipt, TakeTheirOwnNodeOutAndTouchNoJobNoAttemptAndNoNumber) {
  Cluster c(Zones{.nodes = 3});
  const JobId young = c.Submit(Spec(1), "ben");
  c.Settle();
  ASSERT_EQ(c.attempt(young).nodes[0], NodeId(1));
  const JobId held = c.Submit(Spec(1), "ben");
  c.Settle();
  c.Suspend(held, "ben");
  c.Settle();
  ASSERT_EQ(c.job(held).state, JobState::kHeld);
  const Job young_before = c.job(young), held_before = c.job(held);
  const Attempt attempt_before = c.attempt(young);
  const JobId next = c.state().next_job_id;
  c.Do(Claims(c, NodeId(3), {{young, 1}, {young, 2}, {held, 2}, {JobId(70), 1}}));
  EXPECT_EQ(c.attempt(young), attempt_before);
  EXPECT_EQ(c.job(young).state, young_before.state);
  EXPECT_EQ(c.job(young).attempts, young_before.attempts);
  EXPECT_EQ(c.job(held), held_before);
  EXPECT_EQ(c.state().next_job_id, next);
  EXPECT_TRUE(c.node(NodeId(3)).orphans.empty());
  EXPECT_EQ(c.node(NodeId(3)).unproven.size(), 4u);
  EXPECT_FALSE(IsFree(c.node(NodeId(3)))) << "it takes itself out";
  EXPECT_EQ(c.Noted(HistoryKind::kOrphan), 4);
  EXPECT_THAT(c.store().history().back().text, ::testing::HasSubstr("without a receipt"));
  c.Do(Claims(c, NodeId(3), {{young, 1}, {young, 2}, {held, 2}, {JobId(70), 1}}));
  EXPECT_EQ(c.Noted(HistoryKind::kOrphan), 4) << "told once";
  c.Resume(held, "ben");
  c.Settle();
  EXPECT_EQ(c.job(held).state, JobState::kRunning) << "and waits for nothing";
  c.Do(Claims(c, NodeId(3), {}));
  EXPECT_TRUE(IsFree(c.node(NodeId(3))));
}

TEST(OrphansWithoutAReceipt, AreToldApartFromThoseWithOne) {
  Cluster c(Zones{.nodes = 2});
  NodeReported report = RunsAll(c, NodeId(1), {{JobId(55), 2}, {JobId(60), 1}});
  report.tasks[1].receipt = false;
  c.Do(report);
  EXPECT_EQ(c.node(NodeId(1)).orphans, (std::vector{AttemptId{JobId(55), 2}}));
  EXPECT_EQ(c.node(NodeId(1)).unproven, (std::vector{AttemptId{JobId(60), 1}}));
  EXPECT_EQ(c.Submit(Spec(1)), JobId(56));
}

TEST(Orphans, NorTheNumberOfAJobThatANodeHasSomethingOf) {
  Cluster c;
  NodeConnected hello;
  hello.session = 99;
  hello.name = "n-new";
  hello.machine_id = "m-new";
  hello.highest_job = JobId(70);
  c.Do(hello);
  EXPECT_EQ(c.Submit(Spec(1)), JobId(71));
}

// A job that waits, though n1 is free: n2 runs an attempt of it that the store does not know.
struct HasOrphan {
  static constexpr NodeId kN2{2};
  Cluster c;
  JobId job;
  explicit HasOrphan(Policy policy = {}) : c(Zones{.nodes = 2}, std::move(policy)) {
    job = c.Submit(Spec(1));
    c.Suspend(job);
    c.Settle();
    EXPECT_EQ(c.job(job).state, JobState::kHeld);
    c.Do(RunsAll(c, kN2, {{job, 2}}));
    c.Resume(job);
    EXPECT_EQ(c.job(job).state, JobState::kQueued);
  }
};

TEST(Orphans, AJobDoesNotStartBesideItsOwn) {
  HasOrphan o;
  const Blocker blocker = SaveBlocker(o.c.state().tables(), o.c.job(o.job));
  EXPECT_EQ(blocker.kind, BlockerKind::kOrphan);
  EXPECT_THAT(blocker.message, ::testing::HasSubstr("an attempt of it runs on node n2"));
  const JobId other = o.c.Submit(Spec(1));
  EXPECT_EQ(o.c.job(other).state, JobState::kStarting) << "nobody else waits for that";
  o.c.Cancel(other);
  o.c.Settle();
  o.c.Do(RunsAll(o.c, o.kN2, {}));
  EXPECT_EQ(o.c.job(o.job).state, JobState::kStarting) << "it has ended";
}

TEST(Orphans, ANumberThatNoAttemptCanHaveUsesUpNoOthers) {
  HasOrphan o;
  o.c.Do(RunsAll(o.c, o.kN2, {{o.job, ~0U}}));
  EXPECT_EQ(o.c.job(o.job).state, JobState::kQueued) << "it is one nevertheless";
  o.c.Do(RunsAll(o.c, o.kN2, {}));
  EXPECT_EQ(o.c.attempt(o.job).id.number, 3u);
}

TEST(Orphans, OfALostNodeAreWaitedForNoLonger) {
  Policy policy;
  policy.outage_percent = 100;
  HasOrphan o(policy);
  o.c.Silence(o.kN2, true);
  EXPECT_EQ(o.c.job(o.job).state, JobState::kQueued) << "it is silent, and what runs there runs on";
  o.c.Advance(o.c.policy().node_lost_after + Seconds(1));
  EXPECT_EQ(o.c.node(o.kN2).state, NodeState::kLost);
  EXPECT_EQ(o.c.job(o.job).state, JobState::kStarting);
}

TEST(Orphans, OfANodeThatComesBackAreSeenAgain) {
  Policy policy;
  policy.outage_percent = 100;
  HasOrphan o(policy);
  o.c.Silence(o.kN2, true);
  o.c.Advance(o.c.policy().node_lost_after + Seconds(1));
  ASSERT_EQ(o.c.job(o.job).state, JobState::kStarting);
  EXPECT_EQ(o.c.attempt(o.job).id.number, 3u) << "the orphan has 2";
  o.c.Connect("n2", o.c.node(o.kN2).labels);
  o.c.Do(RunsAll(o.c, o.kN2, {{o.job, 2}}));
  EXPECT_EQ(o.c.attempt(o.job).stop, StopCause::kDeadline) << "it makes way: it has saved nothing";
}

TEST(Orphans, OfARemovedNodeAreWaitedForNoLonger) {
  HasOrphan o;
  o.c.Silence(o.kN2, true);
  RemoveNode removed;
  removed.name = "n2";
  EXPECT_TRUE(o.c.Do(removed).status.ok());
  EXPECT_EQ(o.c.job(o.job).state, JobState::kStarting);
}

// The store was put back, and n1 was heard before n2.
TEST(Orphans, WhoeverHasSavedNothingMakesWay) {
  Cluster c(Zones{.nodes = 2});
  const JobId job = c.Submit(Spec(1));
  c.Settle();
  ASSERT_EQ(c.attempt(job).nodes[0], NodeId(1));
  c.Do(RunsAll(c, NodeId(2), {{job, 1}}));
  EXPECT_EQ(c.node(NodeId(2)).orphans, (std::vector{AttemptId{job, 1}})) << "of a known job, and on the wrong node";
  EXPECT_EQ(c.attempt(job).stop, StopCause::kDeadline);
  EXPECT_THAT(c.attempt(job).message, ::testing::HasSubstr("runs on node n2 that the store does not know"));
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kInterrupted);
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
  EXPECT_EQ(c.job(job).waits_for_save, NodeId(2));
  EXPECT_EQ(c.job(job).idle_yields, 0u) << "it did not leave by itself";
  EXPECT_FALSE(c.job(job).not_before);
  c.Do(RunsAll(c, NodeId(2), {}));
  EXPECT_EQ(c.attempt(job).id.number, 2u);
}

// n1, to which the orphan's job was given since, was heard long before n2.
struct BesideItsOrphan {
  Cluster c{Zones{.nodes = 2}};
  JobId job = c.Running(Spec(1));
  void RunsOn() {
    c.Do(RunsAll(c, NodeId(2), {{job, 1}}));
    EXPECT_EQ(c.job(job).state, JobState::kRunning);
    EXPECT_EQ(c.attempt(job).stop, StopCause::kNone);
    EXPECT_FALSE(c.attempt(job).open_agreement());
    c.Do(RunsAll(c, NodeId(2), {{job, 1}, {job, 9}}));
    EXPECT_EQ(c.job(job).state, JobState::kRunning);
  }
};

TEST(Orphans, WhoeverHasDoneAStepRunsOn) {
  BesideItsOrphan b;
  b.c.Step(b.job, 0);
  b.RunsOn();
}

TEST(Orphans, WhoeverHasRunForLongRunsOnAlthoughItReportsNoSteps) {
  BesideItsOrphan b;
  b.c.Advance(Hours(1));
  b.RunsOn();
}

TEST(Orphans, OneThatGoesOnFromASaveMakesWayUntilItsFirstStep) {
  BesideItsOrphan b;
  b.c.Save(b.job, 10);
  b.c.Suspend(b.job);
  b.c.Settle();
  b.c.Resume(b.job);
  b.c.Settle();
  ASSERT_EQ(b.c.attempt(b.job).id.number, 2u);
  ASSERT_GE(b.c.attempt(b.job).base.step, 10);
  b.c.Do(RunsAll(b.c, NodeId(2), {{b.job, 7}}));
  EXPECT_EQ(b.c.attempt(b.job).stop, StopCause::kDeadline) << "ten steps are its job's, and not lost";
}

// A machine is away for long, and its job goes on elsewhere; `removed`: an operator takes the dead row out.
struct AwayForLong {
  static constexpr NodeId kN1{1};
  Cluster c;
  JobId job;
  NodeLabels labels;
  static Policy LosesNodes() {
    Policy policy;
    policy.outage_percent = 100;
    return policy;
  }
  explicit AwayForLong(bool removed) : c(Zones{.nodes = 2}, LosesNodes()) {
    job = c.Running(Spec(1));
    labels = c.node(kN1).labels;
    EXPECT_EQ(c.attempt(job).nodes[0], kN1);
    c.Silence(kN1, true);
    c.Advance(c.policy().node_lost_after + Seconds(1));
    c.Settle();
    EXPECT_EQ(c.attempt(job).id.number, 2u);
    EXPECT_EQ(c.job(job).state, JobState::kRunning);
    if (!removed) return;
    RemoveNode remove;
    remove.name = "n1";
    EXPECT_TRUE(c.Do(remove).status.ok());
  }
  NodeId ComesBack() {
    const NodeId again = c.Connect("n1", labels).node;
    c.Do(RunsAll(c, again, {{job, 1}}));
    return again;
  }
};

// The store was put back to when attempt 1 ran on n1; since then it was interrupted, and attempt 2 went on on n2.
TEST(Orphans, TheNextAttemptGetsNoNumberOfOneThatWasSeenWhileTheJobRan) {
  BesideItsOrphan b;
  b.c.Step(b.job, 5);
  b.c.Do(RunsAll(b.c, NodeId(2), {{b.job, 2}}));
  ASSERT_EQ(b.c.job(b.job).state, JobState::kRunning);
  EXPECT_EQ(b.c.job(b.job).attempts, 1u);
  b.c.Do(RunsAll(b.c, NodeId(2), {}));
  b.c.RestartScheduler();
  b.c.Return(NodeId(1));
  b.c.Return(NodeId(2));
  b.c.Suspend(b.job);
  b.c.Settle();
  b.c.Resume(b.job);
  b.c.Settle();
  ASSERT_EQ(b.c.job(b.job).state, JobState::kRunning);
  EXPECT_EQ(b.c.attempt(b.job).id.number, 3u) << "the orphan, which is gone, had 2: its saves and logs lie there";
}

TEST(Orphans, NorOfOneOfTheSameNumberOrASmallerOne) {
  BesideItsOrphan b;
  b.c.Step(b.job, 5);
  b.c.Do(RunsAll(b.c, NodeId(2), {{b.job, 1}}));
  b.c.Do(RunsAll(b.c, NodeId(2), {}));
  b.c.Suspend(b.job);
  b.c.Settle();
  b.c.Resume(b.job);
  b.c.Settle();
  EXPECT_EQ(b.c.attempt(b.job).id.number, 2u) << "none is left out";
}

TEST(Orphans, WhatIsOverByOurOwnRowsStopsNothingAndIsWaitedForByNobody) {
  AwayForLong a(true);
  const Attempt before = a.c.attempt(a.job);
  const NodeId again = a.ComesBack();
  EXPECT_NE(again, AwayForLong::kN1);
  EXPECT_EQ(a.c.attempt(a.job), before) << "it has saved nothing, and its steps are its own";
  EXPECT_TRUE(a.c.node(again).orphans.empty());
  EXPECT_EQ(a.c.node(again).unproven, (std::vector{AttemptId{a.job, 1}}));
  EXPECT_FALSE(IsFree(a.c.node(again))) << "absence never kills, and nobody starts beside it";
  EXPECT_THAT(a.c.store().history().back().text, ::testing::HasSubstr("that attempt is over"));
  a.c.Suspend(a.job);
  a.c.Settle();
  a.c.Resume(a.job);
  a.c.Settle();
  EXPECT_EQ(a.c.attempt(a.job).id.number, 3u) << "it does not wait for it";
  a.c.Do(RunsAll(a.c, again, {}));
  EXPECT_TRUE(IsFree(a.c.node(again)));
}

// A node's root keeps the receipts of all that was ever launched there.
TEST(Orphans, AnOldReceiptHoldsAndStopsNobody) {
  Cluster c(Zones{.nodes = 3});
  const JobId moved = c.Running(Spec(1));
  ASSERT_EQ(c.attempt(moved).nodes[0], NodeId(1));
  c.Suspend(moved);
  c.Settle();
  const JobId other = c.Submit(Spec(1), "ben");
  c.Settle();
  ASSERT_EQ(c.attempt(other).nodes[0], NodeId(1));
  c.Resume(moved);
  c.Settle();
  ASSERT_EQ(c.attempt(moved).nodes[0], NodeId(2)) << "attempt 2";
  c.Cancel(other, "ben");
  c.Settle();
  c.Do(RunsAll(c, NodeId(1), {{moved, 1}}));
  EXPECT_EQ(c.attempt(moved).stop, StopCause::kNone) << "it has done no step yet";
  EXPECT_EQ(c.node(NodeId(1)).unproven, (std::vector{AttemptId{moved, 1}}));
  c.Suspend(moved);
  c.Settle();
  c.Resume(moved);
  EXPECT_EQ(c.job(moved).state, JobState::kStarting) << "attempt 1 is over, as the store knows";
  EXPECT_EQ(c.attempt(moved).id.number, 3u);
}

TEST(Orphans, OfANodeThatWasLostAndKeptItsRowAreStoppedAsEver) {
  AwayForLong a(false);
  const NodeId again = a.ComesBack();
  EXPECT_EQ(again, AwayForLong::kN1);
  EXPECT_TRUE(a.c.node(again).orphans.empty());
  EXPECT_TRUE(a.c.node(again).unproven.empty());
  EXPECT_EQ(a.c.node(again).stale_tasks.size(), 1u);
  EXPECT_EQ(a.c.job(a.job).state, JobState::kRunning);
}

TEST(Orphans, WhoeverHasSavedRunsOn) {
  Cluster c(Zones{.nodes = 2});
  const JobId job = c.Running(Spec(1));
  c.Save(job, 10);
  c.Do(RunsAll(c, NodeId(2), {{job, 1}}));
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(c.attempt(job).stop, StopCause::kNone);
}

}  // namespace
}  // namespace glim::core
