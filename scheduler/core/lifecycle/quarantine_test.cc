// A task that does not go: its node is taken out with the evidence, and comes back when the task has gone.
#include "scheduler/core/lifecycle/quarantine.h"

#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;

// Job 1 was cancelled and does not go.
struct Stuck {
  Stuck() {
    job = c.Running(Spec(2));
    c.script(job).stuck = true;
    c.Edit(job, 0, [](ObservedTask& task) { task.pids = {4711, 4712}; });
    c.Cancel(job);
    bound = c.policy().kill_after_term + c.policy().release_max;
  }
  Cluster c;
  JobId job;
  Duration bound;
};

TEST(QuarantineRule, PastTheReleaseBoundWithTheEvidence) {
  Stuck s;
  s.c.Advance(s.bound - Milliseconds(1));
  EXPECT_EQ(s.c.node(NodeId(1)).state, NodeState::kReady);
  s.c.Advance(Milliseconds(1));
  EXPECT_EQ(s.c.node(NodeId(1)).state, NodeState::kQuarantined);
  EXPECT_EQ(s.c.node(NodeId(1)).message, "task 1.1.0 did not go after SIGKILL: processes 4711, 4712");
  EXPECT_EQ(s.c.job(s.job).state, JobState::kCancelled) << "its job need not wait";
  EXPECT_EQ(s.c.Noted(HistoryKind::kNodeQuarantined), 2);
}

TEST(QuarantineRule, TheNodeStaysOutUntilTheOperatorReturnsItAndItIsEmpty) {
  Stuck s;
  s.c.Advance(s.bound);
  s.c.Connect("n1", s.c.node(NodeId(1)).labels);
  EXPECT_EQ(s.c.node(NodeId(1)).state, NodeState::kQuarantined) << "a reconnect is no pardon";
  EXPECT_EQ(s.c.Do(ReturnNode{"n1"}).state, "ready");
  EXPECT_FALSE(IsFree(s.c.node(NodeId(1)))) << "the task is still there";
  s.c.script(s.job).stuck = false;
  s.c.Settle();
  EXPECT_TRUE(IsFree(s.c.node(NodeId(1))));
}

TEST(QuarantineRule, TheNodeIsReadyAgainWhenTheTaskIsGone) {
  Stuck s;
  s.c.Advance(s.bound);
  ASSERT_EQ(s.c.node(NodeId(1)).state, NodeState::kQuarantined);
  s.c.script(s.job).stuck = false;
  s.c.Settle();
  EXPECT_TRUE(IsFree(s.c.node(NodeId(1))));
  EXPECT_EQ(s.c.node(NodeId(1)).message, "");
  EXPECT_EQ(s.c.Noted(HistoryKind::kNodeReturned), 2) << "both nodes, once each";
}

TEST(QuarantineRule, WhatElseIsWrongKeepsTheNodeOut) {
  Stuck s;
  s.c.Advance(s.bound);
  NodeReported report;
  report.node = NodeId(1);
  report.session = s.c.session(NodeId(1));
  report.site_fault = "the epilog failed";
  s.c.Do(report);
  EXPECT_EQ(s.c.node(NodeId(1)).message, "the epilog failed");
  s.c.script(s.job).stuck = false;
  s.c.Settle();
  EXPECT_EQ(s.c.node(NodeId(1)).state, NodeState::kQuarantined);
  EXPECT_EQ(s.c.node(NodeId(2)).state, NodeState::kReady);
}

TEST(QuarantineRule, TheEvidenceIsWhatTheAgentSaysNow) {
  Stuck s;
  s.c.Edit(s.job, 0, [](ObservedTask& task) {
    task.pids = {};
    task.message = "its processes are gone, but GPU memory is still in use";
  });
  s.c.Edit(s.job, 1, [](ObservedTask& task) { task.pids = {77}; });
  s.c.Advance(s.bound);
  EXPECT_EQ(s.c.node(NodeId(1)).message,
            "task 1.1.0 did not go after SIGKILL: its processes are gone, but GPU memory is still in use");
  EXPECT_EQ(s.c.node(NodeId(2)).message, "task 1.1.1 did not go after SIGKILL: process 77");
}

TEST(QuarantineRule, ASilentNodeIsNotAccused) {
  Stuck s;
  s.c.Silence(NodeId(1), true);
  s.c.Silence(NodeId(2), true);
  s.c.Advance(s.bound + Seconds(1));  // both silent: an outage
  EXPECT_EQ(s.c.node(NodeId(1)).state, NodeState::kSilent);
}

// The stop order could not reach the agent: it is not to blame that the task is still there.
TEST(QuarantineRule, AfterAnOutageTheAgentGetsTheTimeToObey) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Silence(NodeId(1), true);
  c.Silence(NodeId(2), true);
  c.Cancel(job);
  c.Advance(Minutes(10));
  ASSERT_TRUE(c.state().outage);
  c.Return(NodeId(1));
  c.Return(NodeId(2));
  c.Advance(Milliseconds(1));
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kReady);
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kCancelled);
  EXPECT_TRUE(IsFree(c.node(NodeId(1))));
}

}  // namespace
}  // namespace glim::core
