// A path that a job names does not answer where the job is to start.
#include "scheduler/core/lifecycle/hung_storage.h"

#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;
using testing::Zones;

void FailStartWith(Cluster& c, JobId job, std::uint32_t index, void (*change)(ObservedTask&)) {
  c.script(job).runs = false;
  c.Settle();
  c.Edit(job, index, [&](ObservedTask& task) {
    task.phase = TaskPhase::kReleased;
    task.start_failed = true;
    change(task);
  });
  c.Settle();
}

void PathHangs(ObservedTask& task) {
  task.hung_path = "/nfs/me";
  task.message = "workdir /nfs/me does not answer: 10 s were waited for it";
}

void RuntimeBroken(ObservedTask& task) { task.message = "runc was killed"; }

void NextTry(Cluster& c, JobId job) { c.Advance(c.job(job).not_before - c.now()); }

TEST(HungStorage, IsTriedElsewhereFirst) {
  Cluster c(Zones{.nodes = 2});
  const JobId job = c.Submit(Spec(1));
  FailStartWith(c, job, 0, PathHangs);
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
  EXPECT_EQ(c.job(job).message, "could not start on node n1: workdir /nfs/me does not answer: 10 s were waited for it");
  EXPECT_EQ(c.node(NodeId(1)).suspect, 0u) << "nobody knows yet whose fault it is";
  c.script(job).runs = true;
  NextTry(c, job);
  c.Settle();
  EXPECT_EQ(c.attempt(job).nodes, std::vector{NodeId(2)});
}

TEST(HungStorage, IsHeldAgainstTheNodeWhenItAnswersOnAnother) {
  Cluster c(Zones{.nodes = 2});
  const JobId job = c.Submit(Spec(1));
  FailStartWith(c, job, 0, PathHangs);
  c.script(job).runs = true;
  NextTry(c, job);
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(c.node(NodeId(1)).suspect, 1u);
  EXPECT_EQ(c.node(NodeId(2)).suspect, 0u);
  EXPECT_EQ(c.job(job).storage_failures, 0u);
  EXPECT_TRUE(c.job(job).hung_on.empty());
}

TEST(HungStorage, OnEveryNodeIsNobodysFaultAndCountsForNothing) {
  Cluster c(Zones{.nodes = 2});
  const JobId job = c.Submit(Spec(1));
  Duration before;
  for (std::uint32_t tries = 1; tries <= 4 * c.policy().start_failures_max; ++tries) {
    FailStartWith(c, job, 0, PathHangs);
    ASSERT_EQ(c.job(job).state, JobState::kQueued);
    const Duration pause = c.job(job).not_before - c.now();
    EXPECT_GE(pause, before) << "the pause grows";
    EXPECT_LE(pause, c.policy().restore_backoff_max);
    before = pause;
    NextTry(c, job);
  }
  EXPECT_EQ(before, c.policy().restore_backoff_max);
  EXPECT_EQ(c.job(job).start_failures, 0u);
  EXPECT_EQ(c.job(job).restarts, 0u);
  for (const NodeId node : {NodeId(1), NodeId(2)}) EXPECT_EQ(c.node(node).suspect, 0u);
}

TEST(HungStorage, ThatAnswersAgainOnTheSameNodeIsForgotten) {
  Cluster c(Zones{.nodes = 1});
  const JobId job = c.Submit(Spec(1));
  FailStartWith(c, job, 0, PathHangs);
  c.script(job).runs = true;
  NextTry(c, job);
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kRunning) << "where no other node fits, the same one is taken";
  EXPECT_EQ(c.node(NodeId(1)).suspect, 0u);
  EXPECT_TRUE(c.job(job).hung_on.empty());
}

TEST(HungStorage, DoesNotHideAnotherFaultOfTheSameGang) {
  Cluster c(Zones{.nodes = 2});
  const JobId job = c.Submit(Spec(2));
  c.script(job).runs = false;
  c.Settle();
  const auto fail = [](void (*change)(ObservedTask&)) {
    return [change](ObservedTask& task) {
      task.phase = TaskPhase::kReleased;
      task.start_failed = true;
      change(task);
    };
  };
  c.Edit(job, 1, fail(RuntimeBroken));
  c.Edit(job, 0, fail(PathHangs));
  c.Settle();
  EXPECT_EQ(c.job(job).start_failures, 1u);
  EXPECT_EQ(c.node(NodeId(2)).suspect, 1u);
}

}  // namespace
}  // namespace glim::core
