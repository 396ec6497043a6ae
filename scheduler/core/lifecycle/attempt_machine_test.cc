// The life of an attempt: claims, the start with all nodes, failures of its ranks, and the release task by task.
#include "scheduler/core/lifecycle/claims.h"
#include "scheduler/core/lifecycle/desired.h"
#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/testing/cluster_builder.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace glim::core {
namespace {

using testing::Cluster;
using testing::ScriptedAgent;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

TEST(Attempt, TakesFreeNodesAndStartsAtOnce) {
  Cluster c;
  const JobId job = c.Submit(Spec(2));
  EXPECT_EQ(c.attempt(job).state, AttemptState::kStarting);
  EXPECT_EQ(c.attempt(job).nodes, (std::vector{NodeId(1), NodeId(2)}));
  EXPECT_EQ(c.attempt(job).base.step, -1);
  EXPECT_EQ(c.task(job, 1).node, NodeId(2));
  EXPECT_EQ(c.unsynced(), (std::set{NodeId(1), NodeId(2)}));
}

TEST(Attempt, DeclaresARankForEachProcess) {
  Cluster c;
  const JobId node = c.Submit(Spec(1));
  const JobId gpus = c.Submit(SpecWith(1, [](JobSpec& s) { s.launcher = Launcher::kPerGpu; }));
  EXPECT_EQ(c.task(node, 0).ranks.size(), 1u);
  EXPECT_EQ(c.task(gpus, 0).ranks.size(), 8u);
  Cluster two;
  const JobId both = two.Submit(SpecWith(2, [](JobSpec& s) { s.launcher = Launcher::kPerGpu; }));
  EXPECT_EQ(two.task(both, 1).ranks.front().rank, 8u);
  EXPECT_EQ(two.task(both, 1).ranks.back().rank, 15u);
}

TEST(Attempt, StartsOnlyWhenItHoldsAllItsNodes) {
  Cluster c;
  const JobId first = c.Running(Spec(1));
  const JobId second = c.Running(Spec(1));
  const JobId urgent = c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  EXPECT_EQ(c.attempt(urgent).state, AttemptState::kClaimed);
  EXPECT_EQ(c.attempt(urgent).nodes_held, 0u);
  EXPECT_EQ(c.node(NodeId(1)).claim, c.attempt(urgent).id);
  c.script(second).acks = false;
  c.script(second).leaves = false;
  c.Settle();
  EXPECT_EQ(c.attempt(urgent).nodes_held, 1u);
  EXPECT_EQ(c.node(NodeId(1)).holder, c.attempt(urgent).id) << "a release turns a claim into a holder";
  EXPECT_FALSE(c.node(NodeId(1)).claim);
  EXPECT_EQ(c.attempt(urgent).state, AttemptState::kClaimed);
  EXPECT_TRUE(TasksOf(c.state(), c.attempt(urgent).id).empty()) << "nothing is launched before";
  EXPECT_EQ(c.job(urgent).state, JobState::kStarting);
  c.script(second).leaves = true;
  c.Advance(Seconds(60));
  c.Settle();
  EXPECT_EQ(c.job(urgent).state, JobState::kRunning);
  EXPECT_EQ(c.job(first).state, JobState::kQueued);
}

TEST(Attempt, RunsWhenEveryTaskRuns) {
  Cluster c;
  const JobId job = c.Submit(Spec(2));
  c.script(job).runs = false;
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kStarting);
  c.Edit(job, 0, [](ObservedTask& task) { task.phase = TaskPhase::kRunning; });
  EXPECT_EQ(c.attempt(job).state, AttemptState::kStarting);
  c.Edit(job, 1, [](ObservedTask& task) { task.phase = TaskPhase::kRunning; });
  EXPECT_EQ(c.attempt(job).state, AttemptState::kRunning);
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(c.attempt(job).running_at, c.now());
}

TEST(Attempt, EachGetsAnotherPairOfPorts) {
  Cluster c;
  const JobId job = c.Running(Spec(1));
  const std::uint16_t first = c.attempt(job).master_port;
  c.Suspend(job);
  c.Settle();
  c.Resume(job);
  const std::uint16_t second = c.attempt(job).master_port;
  EXPECT_GE(std::abs(second - first), 2) << "the second port of one is not the first of the other";
  for (const std::uint16_t port : {first, second}) {
    EXPECT_GE(port, c.policy().master_port_first);
    EXPECT_LT(port, c.policy().master_port_last) << "the second port is in the range, too";
    EXPECT_EQ((port - c.policy().master_port_first) % 2, 0) << "no two pairs overlap";
  }
}

TEST(Attempt, SucceedsWhenEveryTaskHasExitedWithZero) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Exit(job, 0, 0);
  EXPECT_EQ(c.job(job).state, JobState::kRunning) << "one part has finished, the other goes on";
  EXPECT_TRUE(IsFree(c.node(NodeId(1)))) << "its node is given on at once";
  c.Exit(job, 1, 0);
  EXPECT_EQ(c.job(job).state, JobState::kSucceeded);
  EXPECT_EQ(c.attempt(job).outcome, Outcome::kSucceeded);
  EXPECT_EQ(c.attempt(job).steps_lost, 0);
}

TEST(Attempt, AShortJobMaySucceedBeforeItWasSeenRunning) {
  Cluster c;
  const JobId job = c.Submit(Spec(1));
  c.script(job).runs = false;
  c.Settle();
  c.Exit(job, 0, 0);
  EXPECT_EQ(c.job(job).state, JobState::kSucceeded);
}

TEST(Attempt, AnExitedTaskKeepsItsNodeUntilItIsEmpty) {
  Cluster c;
  const JobId job = c.Running(Spec(1));
  c.Edit(job, 0, [](ObservedTask& task) {
    task.phase = TaskPhase::kExited;
    task.ranks[0].exited = true;
  });
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(c.node(NodeId(1)).holder, c.attempt(job).id);
  c.Exit(job, 0, 0);
  EXPECT_EQ(c.job(job).state, JobState::kSucceeded);
}

TEST(RankFailure, TheFirstStopsTheRest) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Edit(job, 1, [](ObservedTask& task) {
    task.ranks[0].exited = true;
    task.ranks[0].exit_code = 9;
  });
  EXPECT_EQ(c.attempt(job).state, AttemptState::kStopping);
  EXPECT_EQ(c.attempt(job).stop, StopCause::kRankFailed);
  EXPECT_EQ(c.unsynced(), (std::set{NodeId(1), NodeId(2)}));
  for (const NodeId node : {NodeId(1), NodeId(2)}) EXPECT_TRUE(DesiredFor(c.state().tables(), node).at(0).stop);
  const std::string message = c.attempt(job).message;
  c.Edit(job, 0, [](ObservedTask& task) {
    task.ranks[0].exited = true;
    task.ranks[0].exit_code = 143;
  });
  EXPECT_EQ(c.attempt(job).message, message) << "the first failure is the one that is told";
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
}

TEST(RankFailure, ALostTaskIsAFailureOfItsNode) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Edit(job, 0, [](ObservedTask& task) { task.lost = true; });
  EXPECT_EQ(c.attempt(job).stop, StopCause::kNodeFailure);
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kNodeFailure);
}

TEST(DuringAnInterrupt, ExitZeroWithoutLeavingIsSuccess) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  const JobId urgent = c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  c.Exit(job, 0, 0);
  c.Exit(job, 1, 0);
  EXPECT_EQ(c.job(job).state, JobState::kSucceeded);
  EXPECT_EQ(c.attempt(urgent).state, AttemptState::kStarting);
}

TEST(DuringAnInterrupt, AFailingRankFailsTheJob) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  c.Exit(job, 0, 1);
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
}

TEST(DuringAnInterrupt, ARankThatIsLeavingMayExitWithAnyCode) {
  Cluster c;
  const JobId job = c.Running(Spec(1));
  c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  c.Edit(job, 0, [](ObservedTask& task) {
    task.ranks[0].leaving = true;
    ScriptedAgent::Release(task, 1);
  });
  EXPECT_EQ(c.attempt(job).outcome, Outcome::kInterrupted);
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
}

TEST(StopAttempt, TheFirstCauseStays) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Cancel(job);
  const TimePoint stop_at = c.attempt(job).stop_at;
  c.Advance(Seconds(1));
  c.Edit(job, 0, [](ObservedTask& task) { task.lost = true; });
  EXPECT_EQ(c.attempt(job).stop, StopCause::kCancel);
  EXPECT_EQ(c.attempt(job).stop_at, stop_at);
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kCancelled);
}

TEST(StopAttempt, ATaskThatWasNeverLaunchedIsStoppedAsWell) {
  Cluster c;
  const JobId job = c.Submit(Spec(2));
  c.Cancel(job);  // before any agent has seen the launch
  const auto desired = DesiredFor(c.state().tables(), NodeId(1));
  ASSERT_EQ(desired.size(), 1u);
  EXPECT_FALSE(desired[0].launch);
  EXPECT_TRUE(desired[0].stop);
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kCancelled);
  EXPECT_EQ(c.attempt(job).outcome, Outcome::kCancelled);
}

TEST(DropClaims, HeldNodesGoFreeAndInterruptsWithoutAStepAreWithdrawn) {
  Cluster c(Zones{.nodes = 3});
  const JobId small = c.Running(Spec(1));
  const JobId other = c.Running(Spec(1));
  for (const JobId job : {small, other}) c.script(job).acks = false;
  const JobId urgent = c.Submit(Spec(3, PriorityClass::kHigh), "bob");
  EXPECT_EQ(c.attempt(urgent).nodes_held, 1u);
  EXPECT_EQ(c.attempt(urgent).victims.size(), 2u);
  c.Cancel(urgent, "bob");
  EXPECT_TRUE(IsFree(c.node(NodeId(3))));
  for (const JobId job : {small, other}) {
    EXPECT_EQ(c.job(job).state, JobState::kRunning);
    EXPECT_EQ(c.agreement(job).state, AgreementState::kWithdrawn);
    EXPECT_EQ(c.job(job).interrupts, 0u);
  }
}

}  // namespace
}  // namespace glim::core
