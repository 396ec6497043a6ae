// Labels of a node that change while it is held, and GPUs that are missing.
#include "scheduler/core/lifecycle/node_labels.h"

#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Labels;
using testing::Spec;
using testing::Zones;

constexpr NodeId kLabelled{1}, kOther{2};

NodeLabels InPool(Cluster& c, NodeId node, const std::string& pool) {
  NodeLabels labels = c.node(node).labels;
  labels.pool = pool;
  return labels;
}

TEST(NewLabels, OfAFreeNodeHoldAtOnce) {
  Cluster c;
  c.Connect("n1", InPool(c, kLabelled, "other"));
  EXPECT_EQ(c.node(kLabelled).labels.pool, "other");
  EXPECT_FALSE(c.node(kLabelled).relabelled);
  EXPECT_EQ(c.Noted(HistoryKind::kNodeRelabelled), 1);
}

TEST(NewLabels, OfAHeldNodeHoldFromItsReleaseOn) {
  Cluster c(Zones{.nodes = 1});
  const JobId job = c.Running(Spec(1));
  for (int again = 0; again < 2; ++again) c.Connect("n1", InPool(c, kLabelled, "other"));
  c.Report(kLabelled);
  EXPECT_EQ(c.node(kLabelled).labels.pool, "default") << "the plan that its job runs by was made with these";
  EXPECT_EQ(c.Noted(HistoryKind::kNodeRelabelled), 1) << "told once";
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  c.Finish(job);
  EXPECT_EQ(c.node(kLabelled).labels.pool, "other");
  EXPECT_FALSE(c.node(kLabelled).relabelled);
}

TEST(NewLabels, TakenBackBeforeTheReleaseNeverHold) {
  Cluster c(Zones{.nodes = 1});
  const JobId job = c.Running(Spec(1));
  const NodeLabels labels = c.node(kLabelled).labels;
  c.Connect("n1", InPool(c, kLabelled, "other"));
  c.Connect("n1", labels);
  c.Report(kLabelled);
  c.Finish(job);
  EXPECT_EQ(c.node(kLabelled).labels, labels);
}

TEST(NewLabels, OfALostNodeHoldWhenItIsWrittenOff) {
  Cluster c(Zones{.nodes = 1});
  c.Running(Spec(1));
  c.Connect("n1", InPool(c, kLabelled, "other"));
  c.Silence(kLabelled);
  c.Advance(c.policy().node_lost_after);
  EXPECT_EQ(c.node(kLabelled).labels.pool, "other");
}

TEST(NewLabels, OfANeighbourInAnotherZoneTakeItsCopiesAway) {
  Cluster c(Zones{.zones = 0});
  for (int n = 0; n < 2; ++n) c.AddNode(Labels("z1", "z1-l1"), "somewhere:7010");
  const JobId job = c.Running(Spec(1));
  ASSERT_EQ(c.attempt(job).replicas, std::vector{kOther});
  c.Connect("n2", Labels("z2", "z2-l1"), "somewhere:7010");
  EXPECT_EQ(c.attempt(job).replicas, std::vector{NodeId{}});
}

// A low job makes room for an urgent one on a node that moves to another pool meanwhile.
struct Claimed {
  explicit Claimed(bool acks) {
    victim = c.Running(Spec(1, PriorityClass::kLow));
    c.script(victim).acks = acks;
    c.script(victim).leaves = false;
    urgent = c.Submit(Spec(1, PriorityClass::kHigh), "bob");
    c.Settle();
    c.Connect("n1", InPool(c, kLabelled, "other"));
    c.Report(kLabelled);
  }
  Cluster c{Zones{.nodes = 1}};
  JobId victim, urgent;
};

TEST(AClaim, OfANodeThatNoLongerFitsIsDroppedAtTheRelease) {
  Claimed s(true);
  ASSERT_EQ(s.c.node(kLabelled).claim, s.c.attempt(s.urgent).id) << "until then the node may be labelled back";
  s.c.Edit(s.victim, 0, [](ObservedTask& task) {
    task.ranks[0].leaving = true;
    testing::ScriptedAgent::Release(task, 0);
  });
  EXPECT_EQ(s.c.attempt(s.urgent, 1).outcome, Outcome::kClaimDropped);
  EXPECT_EQ(s.c.attempt(s.urgent, 1).message, "node n1 has other labels now");
  EXPECT_EQ(s.c.job(s.urgent).state, JobState::kQueued);
  EXPECT_FALSE(s.c.node(kLabelled).holder);
  EXPECT_TRUE(s.c.attempt(s.victim, 1).agreements.back().swap_aborted) << "it left for nobody";
  EXPECT_TRUE(s.c.job(s.victim).swap_aborted);
}

TEST(AClaim, OfARankThatLeftBeforeItCouldAgreeIsSwapAbortedAsWell) {
  Claimed s(false);
  s.c.Edit(s.victim, 0, [](ObservedTask& task) {
    task.ranks[0].leaving = true;
    testing::ScriptedAgent::Release(task, 0);
  });
  EXPECT_EQ(s.c.attempt(s.victim, 1).outcome, Outcome::kInterrupted);
  EXPECT_EQ(s.c.job(s.victim).state, JobState::kQueued);
}

TEST(AClaim, ThatFitsTheNewLabelsTooBecomesTheHolder) {
  Cluster c(Zones{.nodes = 1});
  const JobId victim = c.Running(Spec(1, PriorityClass::kLow));
  const JobId urgent = c.Submit(Spec(1, PriorityClass::kHigh), "bob");
  NodeLabels better = c.node(kLabelled).labels;
  better.nvlink = NvLink::kFull;
  c.Connect("n1", better);
  c.Report(kLabelled);
  c.Settle();
  EXPECT_EQ(c.attempt(victim, 1).outcome, Outcome::kInterrupted);
  EXPECT_EQ(c.node(kLabelled).holder, c.attempt(urgent).id);
  EXPECT_EQ(c.node(kLabelled).labels, better);
}

// It has the node, and nothing of it runs there yet.
TEST(AClaim, ThatAlreadyHasTheNodeIsDroppedAtOnceWhereItNoLongerFits) {
  Cluster c(Zones{.nodes = 2});
  const JobId victim = c.Running(Spec(1, PriorityClass::kLow));
  c.script(victim).acks = false;
  const JobId urgent = c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  ASSERT_EQ(c.node(kOther).holder, c.attempt(urgent).id);
  ASSERT_EQ(c.attempt(urgent).state, AttemptState::kClaimed);
  c.Connect("n2", InPool(c, kOther, "other"));
  EXPECT_EQ(c.node(kOther).labels.pool, "other");
  EXPECT_EQ(c.attempt(urgent, 1).outcome, Outcome::kClaimDropped);
  EXPECT_FALSE(c.node(kOther).holder);
  EXPECT_EQ(c.job(victim).state, JobState::kRunning);
}

// A pass of either pool reads no node that is not in it, and the jobs of both go on.
TEST(NewLabels, OfTheHighestNodeDoNotStopThePlanning) {
  Cluster c(Zones{.nodes = 3});
  const JobId job = c.Running(Spec(3));
  c.Connect("n3", InPool(c, NodeId(3), "alpha"));
  c.Report(NodeId(3));
  const JobId waits = c.Submit(Spec(1), "bob");
  EXPECT_EQ(c.job(waits).state, JobState::kQueued);
  EXPECT_FALSE(c.state().dirty);
  c.Finish(job);
  EXPECT_EQ(c.attempt(waits).nodes, std::vector{kLabelled});
  EXPECT_EQ(c.node(NodeId(3)).labels.pool, "alpha");
}

TEST(MissingGpus, TakeTheNodeOutAndFailItsAttempt) {
  Cluster c(Zones{.nodes = 3});
  const JobId job = c.Running(Spec(2));
  c.Connect("n1", Labels("z1", "z1-l1", 7));
  EXPECT_EQ(c.node(kLabelled).state, NodeState::kQuarantined);
  EXPECT_EQ(c.node(kLabelled).message, "gpus 7 of 8");
  EXPECT_EQ(c.node(kLabelled).labels.gpu_count, 8u) << "fewer is no label";
  EXPECT_EQ(c.attempt(job).stop, StopCause::kNodeFailure);
  EXPECT_EQ(c.node(kLabelled).stale_tasks.size(), 1u) << "what runs there is stopped";
  c.Connect("n1", Labels("z1", "z1-l1", 7));
  EXPECT_EQ(c.Noted(HistoryKind::kNodeQuarantined), 1) << "told once";
  c.Report(kLabelled);
  c.Settle();
  c.Advance(Seconds(31));
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).message, "node n1 has gpus 7 of 8; it reported no steps");
  EXPECT_EQ(c.attempt(job).nodes, (std::vector{kOther, NodeId(3)}));
}

TEST(MissingGpus, AreMendedBeforeTheNodeIsReturned) {
  Cluster c;
  c.Connect("n1", Labels("z1", "z1-l1", 7));
  const Reply refused = c.Do(ReturnNode{"n1"});
  EXPECT_EQ(refused.status.reason(), "GPUS_MISSING");
  EXPECT_EQ(refused.status.message(), "node n1 has gpus 7 of 8");
  EXPECT_NE(refused.status.fix().find("glim admin node remove --connected n1"), std::string::npos);
  c.Connect("n1", Labels("z1", "z1-l1", 8));
  EXPECT_EQ(c.node(kLabelled).state, NodeState::kQuarantined) << "only the operator knows that it is mended";
  EXPECT_EQ(c.Do(ReturnNode{"n1"}).state, "ready");
  EXPECT_TRUE(IsFree(c.node(kLabelled)));
}

TEST(MissingGpus, DropWhoClaimedTheNode) {
  Cluster c(Zones{.nodes = 1});
  const JobId victim = c.Running(Spec(1, PriorityClass::kLow));
  c.script(victim).acks = false;
  const JobId urgent = c.Submit(Spec(1, PriorityClass::kHigh), "bob");
  ASSERT_EQ(c.node(kLabelled).claim, c.attempt(urgent).id);
  c.Connect("n1", Labels("z1", "z1-l1", 7));
  EXPECT_EQ(c.attempt(urgent, 1).outcome, Outcome::kClaimDropped);
  EXPECT_EQ(c.attempt(victim, 1).outcome, Outcome::kNodeFailure);
}

}  // namespace
}  // namespace glim::core
