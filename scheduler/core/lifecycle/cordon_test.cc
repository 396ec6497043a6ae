// An operator takes nodes out: no job starts there, a drain empties them with a save, and what is known of that
// outlives everything but the node's row.
#include "scheduler/core/lifecycle/cordon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::Patient;
using testing::Spec;
using testing::Zones;

Reply CordonIt(Cluster& c, const std::string& node, Duration lasts = {}) {
  return c.Do(CordonNode{node, "ann", "a new fan", lasts});
}

Reply Drain(Cluster& c, const std::string& node, Duration deadline = {}) {
  return c.Do(CordonNode{node, "ann", "a new fan", {}, true, deadline});
}

TEST(ACordonedNode, IsGivenToNobody) {
  Cluster c(Zones{.nodes = 1}, Patient());
  ASSERT_TRUE(CordonIt(c, "n1").status.ok());
  const JobId job = c.Submit(Spec(1));
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
  ASSERT_EQ(c.Blockers(job).size(), 1u);
  EXPECT_EQ(c.Blockers(job)[0].kind, BlockerKind::kNodesOut) << "not infeasible: it comes back";
  EXPECT_EQ(c.Blockers(job)[0].message,
            "0 of 1 node that fits takes jobs, 1 needed; 1 cordoned; node n1 is cordoned by ann: a new fan");
  EXPECT_EQ(c.node(NodeId(1)).use, Use::kUnavailable);
  ASSERT_TRUE(c.Do(UncordonNode{"n1", "ann"}).status.ok());
  EXPECT_EQ(c.job(job).state, JobState::kStarting);
}

TEST(ACordonedNode, KeepsWhoIsThere) {
  Cluster c(Zones{.nodes = 2}, Patient());
  const JobId job = c.Running(Spec(1));
  CordonIt(c, "n1");
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  c.Finish(job);
  EXPECT_EQ(c.job(job).state, JobState::kSucceeded);
  const JobId next = c.Submit(Spec(2));
  EXPECT_EQ(c.job(next).state, JobState::kQueued);
}

TEST(ACordonedNode, IsNoLongerWaitedFor) {
  Cluster c(Zones{.nodes = 2}, Patient());
  c.Running(Spec(2));
  const JobId high = c.Submit(Spec(1, PriorityClass::kHigh), "bob");
  ASSERT_EQ(c.attempt(high).state, AttemptState::kClaimed);
  const NodeId claimed = c.attempt(high).nodes[0];
  CordonIt(c, c.node(claimed).name);
  EXPECT_FALSE(c.node(claimed).claim);
  EXPECT_EQ(c.attempt(high, 1).outcome, Outcome::kClaimDropped);
  c.Settle();
  ASSERT_EQ(c.job(high).state, JobState::kRunning);
  EXPECT_NE(c.attempt(high).nodes[0], claimed) << "the other one of the gang that left";
}

TEST(ACordonedNode, StaysSoWhateverBecomesOfItsAgentAndItsScheduler) {
  Cluster c(Zones{.nodes = 1});
  CordonIt(c, "n1");
  const Cordon cordon = *c.node(NodeId(1)).cordon;
  c.Silence(NodeId(1), true);
  c.Advance(c.policy().node_lost_after);
  ASSERT_EQ(c.node(NodeId(1)).state, NodeState::kLost);
  EXPECT_EQ(c.node(NodeId(1)).cordon, cordon);
  c.RestartScheduler();
  c.Return(NodeId(1));
  ASSERT_EQ(c.node(NodeId(1)).state, NodeState::kReady);
  EXPECT_EQ(c.node(NodeId(1)).cordon, cordon);
  c.Do(ReturnNode{"n1"});
  EXPECT_EQ(c.node(NodeId(1)).cordon, cordon) << "a return is of a quarantine";
}

TEST(ACordonedNode, ComesBackByItselfWhenItsTimeIsOver) {
  Cluster c(Zones{.nodes = 1}, Patient());
  CordonIt(c, "n1", Minutes(30));
  const JobId job = c.Submit(Spec(1));
  c.Advance(Minutes(29));
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
  c.RestartScheduler();
  c.Return(NodeId(1));
  EXPECT_EQ(c.Wake() - c.now() <= Minutes(1), true);
  c.Advance(Minutes(1));
  EXPECT_FALSE(c.node(NodeId(1)).cordon);
  EXPECT_EQ(c.job(job).state, JobState::kStarting);
  EXPECT_EQ(c.Noted(HistoryKind::kNodeUncordoned), 1);
}

TEST(ADrain, AsksWhoIsThereToSaveAndLeaveAndTheyGoOnElsewhereFirstInTheirClass) {
  Cluster c(Zones{.nodes = 2}, Patient());
  const JobId job = c.Running(Spec(1));
  const NodeId node = c.attempt(job).nodes[0];
  const JobId other = c.Running(Spec(1));
  const JobId waits = c.Submit(Spec(1), "bob");
  Drain(c, c.node(node).name);
  EXPECT_EQ(c.agreement(job).reason, "node " + c.node(node).name + " is being drained by ann: a new fan");
  EXPECT_FALSE(c.node(node).cordon->drained);
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).save, SaveResult::kSaved);
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
  EXPECT_EQ(c.job(job).restarts, 0u) << "it is not to blame";
  EXPECT_EQ(c.node(node).suspect, 0u);
  EXPECT_THAT(c.job(job).message, HasSubstr("drained by ann: a new fan; saved and left"));
  EXPECT_TRUE(c.node(node).cordon->drained);
  EXPECT_EQ(c.Noted(HistoryKind::kNodeDrained), 1);
  c.Finish(other);
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kRunning) << "it comes first";
  EXPECT_EQ(c.attempt(job).base.step, c.attempt(job, 1).durable_step);
  EXPECT_EQ(c.job(job).steps_lost, 0);
  EXPECT_EQ(c.job(waits).state, JobState::kQueued);
}

TEST(ADrain, OfOneNodeMovesTheWholeGang) {
  Cluster c(Zones{.nodes = 4}, Patient());
  const JobId job = c.Running(Spec(2));
  const NodeId node = c.attempt(job).nodes[1], stays = c.attempt(job).nodes[0];
  Drain(c, c.node(node).name);
  c.Settle();
  ASSERT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(c.job(job).attempts, 2u);
  const std::vector<NodeId>& nodes = c.attempt(job).nodes;
  EXPECT_EQ(std::count(nodes.begin(), nodes.end(), node), 0);
  EXPECT_EQ(c.node(stays).cordon, std::nullopt);
}

TEST(ADrain, IsOverAtOnceWhereNobodyIs) {
  Cluster c(Zones{.nodes = 1}, Patient());
  Drain(c, "n1");
  EXPECT_TRUE(c.node(NodeId(1)).cordon->drained);
  EXPECT_EQ(c.Noted(HistoryKind::kNodeDrained), 1);
}

TEST(ADrain, StopsAtItsDeadlineWhoHasNotLeft) {
  Cluster c(Zones{.nodes = 2}, Patient());
  const JobId job = c.Running(Spec(1));
  c.script(job).acks = c.script(job).leaves = false;
  const NodeId node = c.attempt(job).nodes[0];
  Drain(c, c.node(node).name, Seconds(20));
  c.Advance(Seconds(19));
  EXPECT_EQ(c.attempt(job, 1).stop, StopCause::kNone);
  c.Advance(Seconds(1));
  EXPECT_EQ(c.attempt(job, 1).stop, StopCause::kDeadline);
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).save, SaveResult::kKilled);
  EXPECT_TRUE(c.node(node).cordon->drained);
  EXPECT_EQ(c.job(job).state, JobState::kRunning) << "elsewhere";
}

TEST(ADrain, NobodyIsToldOfMoreTimeThanItsDeadline) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const JobId job = c.Running(Spec(1));
  c.script(job).acks = c.script(job).leaves = false;
  c.Submit(Spec(1, PriorityClass::kHigh), "bob");
  ASSERT_GT(c.agreement(job).deadline, c.now() + Seconds(20)) << "an interrupt, with its whole grace";
  Drain(c, "n1", Seconds(20));
  const TimePoint end = c.now() + Seconds(20);
  EXPECT_EQ(c.agreement(job).deadline, end);
  c.Edit(job, 0, [](ObservedTask& task) { task.ranks[0].extend = Minutes(5); });
  EXPECT_EQ(c.agreement(job).deadline, end) << "it asked for more";
  EXPECT_EQ(c.Noted(HistoryKind::kGraceExtended), 0);
}

TEST(ADrain, OfAnotherNodeOfTheGangMayLeaveLessTime) {
  Cluster c(Zones{.nodes = 2}, Patient());
  const JobId job = c.Running(Spec(2));
  c.script(job).acks = c.script(job).leaves = false;
  Drain(c, "n1");
  Drain(c, "n2", Seconds(20));
  const TimePoint end = c.now() + Seconds(20);
  EXPECT_EQ(c.agreement(job).deadline, end);
  c.RestartScheduler();
  c.Return(NodeId(1));
  c.Return(NodeId(2));
  EXPECT_EQ(c.agreement(job).deadline, end) << "a new leader gives a whole grace, and no more than the drain";
}

TEST(ADrain, AgreesInAQuarterOfTheTimeThatItGives) {
  Cluster c(Zones{.nodes = 2}, Patient());
  const JobId job = c.Running(Spec(1));
  c.script(job).acks = c.script(job).leaves = false;
  Drain(c, c.node(c.attempt(job).nodes[0]).name, Seconds(2));
  EXPECT_EQ(c.agreement(job).agree_by, c.now() + Milliseconds(500));
}

TEST(ADrain, GoesOnWhenThePreemptorOfWhoIsThereGoesAway) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const JobId job = c.Running(Spec(1));
  const JobId high = c.Submit(Spec(1, PriorityClass::kHigh), "bob");
  ASSERT_EQ(c.attempt(high).state, AttemptState::kClaimed);
  Drain(c, "n1");
  EXPECT_EQ(c.job(high).state, JobState::kQueued);
  EXPECT_EQ(c.job(job).state, JobState::kInterrupting) << "asked again, by the drain";
  c.Settle();
  EXPECT_TRUE(c.node(NodeId(1)).cordon->drained);
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
}

TEST(ADrain, OfASilentNodeIsOverWhenItsTasksAreKnownToBeGone) {
  Cluster c(Zones{.nodes = 2});
  const JobId job = c.Running(Spec(1));
  const NodeId node = c.attempt(job).nodes[0];
  c.Silence(node, true);
  Drain(c, c.node(node).name);
  c.Advance(c.policy().node_lost_after);
  ASSERT_EQ(c.node(node).state, NodeState::kLost);
  EXPECT_FALSE(c.node(node).cordon->drained) << "nobody knows what is there";
  c.Return(node);
  c.Settle();
  EXPECT_TRUE(c.node(node).cordon->drained);
}

TEST(ADrain, FollowsOnACordonAndStaysWhenTheWordsChange) {
  Cluster c(Zones{.nodes = 1}, Patient());
  CordonIt(c, "n1");
  const TimePoint since = c.node(NodeId(1)).cordon->since;
  c.Advance(Minutes(1));
  Drain(c, "n1");
  EXPECT_TRUE(c.node(NodeId(1)).cordon->drain);
  EXPECT_EQ(c.node(NodeId(1)).cordon->since, since) << "it has been out since then";
  c.Do(CordonNode{"n1", "bob", "two new fans"});
  EXPECT_TRUE(c.node(NodeId(1)).cordon->drained);
  EXPECT_EQ(c.node(NodeId(1)).cordon->by, "bob");
}

TEST(ACordon, IsRefusedWithoutAReasonOfAnUnknownNodeAndWhereThereIsNoneToEnd) {
  Cluster c(Zones{.nodes = 1}, Patient());
  EXPECT_EQ(c.Do(CordonNode{"n1", "ann", ""}).status.field(), "reason");
  EXPECT_EQ(c.Do(CordonNode{"n1", "ann", "a\nb"}).status.field(), "reason");
  EXPECT_EQ(c.Do(CordonNode{"n1", "ann", "x", Milliseconds(-1)}).status.field(), "for_ms");
  EXPECT_EQ(c.Do(CordonNode{"n1", "ann", "x", {}, true, Milliseconds(-1)}).status.field(), "deadline_ms");
  const Status behind = c.Do(CordonNode{"n1", "ann", "x", Seconds(5), true, Hours(1)}).status;
  EXPECT_EQ(behind.field(), "deadline_ms") << "nobody would be stopped: the drain is over by then";
  EXPECT_THAT(behind.message(), ::testing::HasSubstr("behind the end of the drain"));
  EXPECT_EQ(c.Do(CordonNode{"n1", "ann", "   "}).status.field(), "reason");
  EXPECT_EQ(CordonIt(c, "n9").status.reason(), "NO_SUCH_NODE");
  EXPECT_EQ(c.Do(UncordonNode{"n1", "ann"}).status.reason(), "NOT_CORDONED");
  EXPECT_FALSE(c.node(NodeId(1)).cordon);
}

TEST(ACordon, IsOnlyTriedInADryRun) {
  Cluster c(Zones{.nodes = 1}, Patient());
  EXPECT_TRUE(c.Do(CordonNode{"n1", "ann", "a new fan", {}, true, {}, true}).status.ok());
  EXPECT_FALSE(c.node(NodeId(1)).cordon);
  CordonIt(c, "n1");
  EXPECT_TRUE(c.Do(UncordonNode{"n1", "ann", true}).status.ok());
  EXPECT_TRUE(c.node(NodeId(1)).cordon);
}

}  // namespace
}  // namespace glim::core
