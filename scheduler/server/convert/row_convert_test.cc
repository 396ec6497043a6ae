// What a job that has some of its nodes is told while it waits for the others.
#include "scheduler/server/convert/row_convert.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::server {
namespace {

using core::JobId;
using core::PriorityClass;
using core::testing::Cluster;
using core::testing::Spec;
using core::testing::Zones;

core::Blocker OnlyBlockerOf(Cluster& c, JobId job) {
  Snapshot snapshot;
  snapshot.tables = c.state().tables();
  snapshot.verdicts = c.state().verdicts;
  snapshot.policy = std::make_shared<core::Policy>(c.policy());
  const auto blockers = BlockersOf(snapshot, c.job(job), c.now());
  EXPECT_EQ(blockers.size(), 1u);
  return blockers.at(0);
}

// Two free nodes of three are claimed at once; the third has a job with a minute of grace.
TEST(ClaimingWords, SayHowLongTheNodesHaveStoodIdleAndHowLongTheOthersMayTake) {
  Cluster c(Zones{.nodes = 3});
  const JobId victim = c.Running(Spec(1, PriorityClass::kLow));
  const JobId urgent = c.Submit(Spec(3, PriorityClass::kHigh), "bob");
  EXPECT_EQ(OnlyBlockerOf(c, urgent).message,
            "it has 2 of its 3 nodes and waits until the job on the others has left, in 1m at the latest");
  c.Advance(Seconds(9));
  const core::Blocker waits = OnlyBlockerOf(c, urgent);
  EXPECT_EQ(waits.kind, core::BlockerKind::kClaiming);
  EXPECT_EQ(waits.jobs, std::vector<JobId>{victim});
  EXPECT_EQ(waits.message,
            "it has 2 of its 3 nodes and waits until the job on the others has left, in 51s at the latest; those it "
            "has have stood idle for 18s of node time");
}

TEST(BackoffWords, SayThatAJobLeftByItselfAndDidNothing) {
  Cluster c;
  const JobId job = c.Submit(Spec(1));
  c.Settle();
  c.EditAll(job, [](core::ObservedTask& task) {
    task.ranks[0].leaving = task.ranks[0].yielded = true;
    core::testing::ScriptedAgent::Release(task, 0);
  });
  EXPECT_EQ(OnlyBlockerOf(c, job).message,
            "it is tried again in 30.0 s: its last attempt left by itself soon, and without a save");
}

TEST(BackoffWords, NameThePathThatDoesNotAnswer) {
  Cluster c;
  const JobId job = c.Submit(Spec(1));
  c.script(job).runs = false;
  c.Settle();
  c.EditAll(job, [](core::ObservedTask& task) {
    task.phase = core::TaskPhase::kReleased;
    task.start_failed = true;
    task.hung_path = "/nfs/me";
    task.message = "workdir /nfs/me does not answer on this node: 10 s were waited for it";
  });
  c.Settle();
  EXPECT_EQ(OnlyBlockerOf(c, job).message,
            "it is tried again in 1.0 s: could not start on node n1: workdir /nfs/me does not answer on this node: 10 "
            "s were waited for it");
}

}  // namespace
}  // namespace glim::server
