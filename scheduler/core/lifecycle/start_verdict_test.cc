// Whose fault a failed start is, and what becomes of the job and of the nodes.
#include "scheduler/core/lifecycle/start_verdict.h"

#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;
using testing::Zones;

// What the agent says of a task that it was just told to start.
void FailStart(Cluster& c, JobId job, std::uint32_t index, void (*change)(ObservedTask&)) {
  c.script(job).runs = false;
  c.Settle();
  c.Edit(job, index, [&](ObservedTask& task) {
    task.phase = TaskPhase::kReleased;
    task.start_failed = true;
    change(task);
  });
  c.Settle();
}

void NotAllowed(ObservedTask& task) {
  task.job_fault = true;
  task.message = "workdir /root is not among the folders that this node gives to jobs: use one that is";
}

void NotThere(ObservedTask& task) {
  task.path_missing = true;
  task.message = "workdir /nfs/me cannot be used on this node: No such file or directory: name a folder that exists";
}

void Broken(ObservedTask& task) { task.message = "runc was killed"; }

// The start of a gang on n1 and n2 has failed on n1, once.
void Suspicion(Cluster& c) {
  const JobId bad = c.Submit(Spec(2));
  FailStart(c, bad, 0, Broken);
  c.Cancel(bad);
  ASSERT_EQ(c.node(NodeId(1)).suspect, 1u);
}

void Retry(Cluster& c) { c.Advance(c.policy().start_backoff); }

TEST(AStartFailure, OfTheJobsOwnFaultIsTriedOnce) {
  Cluster c;
  const JobId job = c.Submit(Spec(1));
  FailStart(c, job, 0, NotAllowed);
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
  EXPECT_EQ(c.job(job).attempts, 1u);
  EXPECT_EQ(c.job(job).message,
            "could not start on node n1: workdir /root is not among the folders that this node gives to jobs: use one "
            "that is");
  EXPECT_EQ(c.node(NodeId(1)).suspect, 0u) << "no node is to blame";
}

TEST(AStartFailure, OfAGangIsTheJobsFaultIfOneNodeSaysSo) {
  Cluster c;
  const JobId job = c.Submit(Spec(2));
  FailStart(c, job, 1, NotAllowed);
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
  EXPECT_EQ(c.job(job).attempts, 1u);
  for (const NodeId node : {NodeId(1), NodeId(2)}) EXPECT_EQ(c.node(node).suspect, 0u);
}

// The only node has a full disk for as long as it has one: the job is not to blame, and waits.
TEST(AStartFailure, OfTheDiskOfTheNodesAgentIsNeverCounted) {
  Cluster c(Zones{.nodes = 1});
  const JobId job = c.Submit(Spec(1));
  for (std::uint32_t tries = 1; tries <= 2 * c.policy().start_failures_max; ++tries) {
    FailStart(c, job, 0, [](ObservedTask& task) {
      task.disk_fault = true;
      task.message = "this node cannot start it: the disk of /var/lib/glim-agent is full";
    });
    ASSERT_EQ(c.job(job).state, JobState::kQueued);
    EXPECT_EQ(c.job(job).attempts, tries);
    c.Advance(c.policy().restore_backoff_max);
  }
  EXPECT_EQ(c.job(job).start_failures, 0u);
  EXPECT_EQ(c.node(NodeId(1)).suspect, 0u) << "its fault says what is wrong with it";
  c.script(job).runs = true;
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
}

TEST(AStartFailure, SaysWhyTheNodeIsLeftOut) {
  Cluster c(Zones{.nodes = 2});
  const JobId job = c.Submit(Spec(1));
  FailStart(c, job, 0, Broken);
  EXPECT_GT(c.node(NodeId(1)).suspect_until, c.now());
  EXPECT_EQ(c.node(NodeId(1)).suspect_why, "its last start (1.1) failed: runc was killed");
  c.Do(ReturnNode{"n1"});
  EXPECT_EQ(c.node(NodeId(1)).suspect_why, "");
}

TEST(AMissingPath, OnASecondNodeIsTheJobsFault) {
  Cluster c(Zones{.nodes = 3});
  const JobId job = c.Submit(Spec(1));
  FailStart(c, job, 0, NotThere);
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
  EXPECT_EQ(c.node(NodeId(1)).suspect, 1u) << "it may lack a file system: another one is tried";
  Retry(c);
  EXPECT_EQ(c.attempt(job).nodes, (std::vector{NodeId(2)}));
  FailStart(c, job, 0, NotThere);
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
  EXPECT_EQ(c.job(job).attempts, 2u);
  EXPECT_EQ(c.job(job).message,
            "could not start on node n2: workdir /nfs/me cannot be used on this node: No such file or directory: name "
            "a folder that exists (the same on 2 nodes)");
  for (const NodeId node : {NodeId(1), NodeId(2)}) EXPECT_EQ(c.node(node).suspect, 0u) << "no node was to blame";
}

TEST(AMissingPath, IsNeverTheFaultOfAJobThatHasRun) {
  Cluster c(Zones{.nodes = 3});
  const JobId job = c.Running(Spec(1));
  c.Suspend(job);
  c.Settle();
  c.Resume(job);
  FailStart(c, job, 0, NotThere);
  Retry(c);
  FailStart(c, job, 0, NotThere);
  EXPECT_EQ(c.job(job).state, JobState::kQueued) << "a file system is missing on two nodes: it is tried on";
}

TEST(AMissingPath, OnOneNodeAloneIsTheNodesFault) {
  Cluster c(Zones{.nodes = 2});
  const JobId job = c.Submit(Spec(1));
  FailStart(c, job, 0, NotThere);
  Retry(c);
  c.script(job).runs = true;
  c.Settle();
  EXPECT_EQ(c.attempt(job).nodes, (std::vector{NodeId(2)}));
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(c.node(NodeId(1)).suspect, 1u);
}

TEST(AMissingPath, WithoutASecondNodeIsTriedAsOftenAsEver) {
  Cluster c(Zones{.nodes = 1});
  const JobId job = c.Submit(Spec(1));
  for (std::uint32_t tries = 1; tries < c.policy().start_failures_max; ++tries) {
    FailStart(c, job, 0, NotThere);
    EXPECT_EQ(c.job(job).state, JobState::kQueued);
    Retry(c);
  }
  FailStart(c, job, 0, NotThere);
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
  EXPECT_EQ(c.job(job).attempts, c.policy().start_failures_max);
}

TEST(AStartFailure, OfTheNodeIsTriedAgainAndRemembered) {
  Cluster c(Zones{.nodes = 2});
  const JobId job = c.Submit(Spec(1));
  FailStart(c, job, 0, Broken);
  EXPECT_EQ(c.node(NodeId(1)).suspect, 1u);
  Retry(c);
  FailStart(c, job, 0, Broken);
  EXPECT_EQ(c.node(NodeId(2)).suspect, 1u);
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
  EXPECT_EQ(c.job(job).attempts, 2u);
}

// Its agent is heard, and the task never runs: of a gang the node that hangs, not those that wait for it.
TEST(AStartTimeout, IsTheFaultOfTheNodesWhereNothingRuns) {
  Cluster c(Zones{.nodes = 4});
  const JobId job = c.Submit(Spec(2));
  c.script(job).runs = false;
  c.Settle();
  c.Edit(job, 0, [](ObservedTask& task) { task.phase = TaskPhase::kRunning; });
  c.Advance(c.policy().start_max);
  EXPECT_EQ(c.attempt(job).message, "not every task was seen running in time: not on n2");
  EXPECT_EQ(c.node(NodeId(1)).suspect, 0u);
  EXPECT_EQ(c.node(NodeId(2)).suspect, 1u);
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kStartFailed);
  c.script(job).runs = true;
  Retry(c);
  c.Settle();
  EXPECT_EQ(c.attempt(job).nodes, (std::vector{NodeId(1), NodeId(3)})) << "not there again";
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
}

TEST(AStartTimeout, IsNotTheFaultOfANodeThatStillCopiesASave) {
  Cluster c(Zones{.nodes = 1});
  const JobId job = c.Submit(Spec(1));
  c.script(job).runs = false;
  c.Settle();
  Attempt copies = c.attempt(job);
  EXPECT_EQ(SlowToStart(c.state(), copies), std::vector{NodeId(1)});
  copies.base.local = "30";
  EXPECT_TRUE(SlowToStart(c.state(), copies).empty());
}

// Nodes 1 and 2 on a leaf, node 3 on another: what is closest together has the suspect node in it.
struct Suspected {
  Suspected() {
    c.AddNode(testing::Labels("z1", "l1"));
    c.AddNode(testing::Labels("z1", "l1"));
    c.AddNode(testing::Labels("z1", "l2"));
    Suspicion(c);
  }
  Cluster c{Zones{.zones = 0}, testing::Patient()};
};

TEST(ASuspectNode, IsLeftOutForAWhileAsLongAsOthersFit) {
  Suspected s;
  EXPECT_EQ(s.c.attempt(s.c.Submit(Spec(2))).nodes, (std::vector{NodeId(2), NodeId(3)}));
}

TEST(ASuspectNode, IsTakenWhereTheOthersDoNotDo) {
  Suspected s;
  EXPECT_EQ(s.c.attempt(s.c.Submit(Spec(3))).nodes, (std::vector{NodeId(1), NodeId(2), NodeId(3)}));
}

TEST(ASuspectNode, IsOneOfTheOthersAgainWhenItsTimeIsOver) {
  Suspected s;
  s.c.Advance(s.c.policy().suspect_for);
  EXPECT_EQ(s.c.attempt(s.c.Submit(Spec(2))).nodes, (std::vector{NodeId(1), NodeId(2)}));
  EXPECT_EQ(s.c.attempt(s.c.Submit(Spec(1))).nodes, std::vector{NodeId(3)});
}

TEST(ASuspectNode, IsTrustedAgainWhenTheOperatorReturnsIt) {
  Suspected s;
  s.c.Do(ReturnNode{"n1"});
  EXPECT_EQ(s.c.attempt(s.c.Submit(Spec(2))).nodes, (std::vector{NodeId(1), NodeId(2)}));
}

}  // namespace
}  // namespace glim::core
