// Whose nodes take no job waits for these nodes, and not for jobs that have them: counted, and one named with its note.
#include "scheduler/core/planning/nodes_out.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/advice/what_if.h"
#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::Patient;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

void Tell(Cluster& c, std::uint32_t node, const std::string& site_fault, const std::string& fault = "") {
  NodeReported report{NodeId{node}, c.session(NodeId{node}), false, {}};
  report.site_fault = site_fault;
  report.fault = fault;
  c.Do(report);
}

Explanation Why(Cluster& c, JobId job) {
  return WhatIf(ClusterState::Of(c.state().tables()), c.policy(), c.now()).Explain(job);
}

TEST(NodesOut, TheOnlyNodeIsQuarantinedAndNothingIsPromised) {
  Cluster c(Zones{.nodes = 1}, Patient());
  Tell(c, 1, "the epilog ended with code 7");
  const JobId job = c.Submit(Spec(1));
  const auto blockers = c.Blockers(job);
  ASSERT_EQ(blockers.size(), 1u);
  EXPECT_EQ(blockers[0].kind, BlockerKind::kNodesOut);
  EXPECT_EQ(blockers[0].have, 0);
  EXPECT_EQ(blockers[0].need, 1);
  EXPECT_EQ(blockers[0].message,
            "0 of 1 node that fits takes jobs, 1 needed; 1 quarantined; node n1 is quarantined: the epilog ended with "
            "code 7");
  const Explanation why = Why(c, job);
  EXPECT_FALSE(why.promised_by);
  EXPECT_EQ(why.estimate.unknown, "too few nodes that fit take jobs now");
  c.Do(ReturnNode{"n1"});
  EXPECT_EQ(c.job(job).state, JobState::kStarting);
}

TEST(NodesOut, TheCheckpointRootHangsOnAllOfThem) {
  Policy policy = Patient();
  policy.checkpoint_root = "/shared";
  Cluster c(Zones{.nodes = 5}, policy);
  for (std::uint32_t n = 1; n <= 5; ++n) {
    NodeReported report{NodeId{n}, c.session(NodeId{n}), true, {}};
    report.root_error = "/shared did not answer in 10 s";
    c.Do(report);
  }
  const JobId job = c.Submit(Spec(2));
  EXPECT_EQ(c.Blockers(job).at(0).message,
            "0 of 5 nodes that fit take jobs, 2 needed; 5 without the checkpoint root; node n1 does not see the "
            "checkpoint root: /shared did not answer in 10 s");
  EXPECT_FALSE(Why(c, job).promised_by);
}

TEST(NodesOut, EachReasonIsCountedAndTheOneToMendIsTheExample) {
  Cluster c(Zones{.nodes = 4}, Patient());
  c.Silence(NodeId(1), true);
  Tell(c, 2, "", "disk_full: the disk is full");
  Tell(c, 3, "the prolog failed");
  const Blocker out = c.Blockers(c.Submit(Spec(2))).at(0);
  EXPECT_EQ(out.kind, BlockerKind::kNodesOut);
  EXPECT_EQ(out.have, 1);
  EXPECT_EQ(out.message,
            "1 of 4 nodes that fit take jobs, 2 needed; 1 quarantined, 1 with a fault, 1 silent; node n3 is "
            "quarantined: the prolog failed");
}

TEST(NodesOut, WhereTheRestIsEnoughThatIsBusyAndTheyAreNamedBesides) {
  Cluster c(Zones{.nodes = 3}, Patient());
  Tell(c, 3, "the prolog failed");
  c.Running(Spec(2));
  const JobId waits = c.Submit(Spec(2));
  const Blocker busy = c.Blockers(waits).at(0);
  EXPECT_EQ(busy.kind, BlockerKind::kNodesBusy);
  EXPECT_THAT(busy.message, HasSubstr("held by job 1; 1 node more takes no job: 1 quarantined; node n3"));
  EXPECT_TRUE(Why(c, waits).promised_by);
}

// Enough in all, and too few in any zone.
TEST(NodesOut, ZonesCount) {
  Cluster c(Zones{.zones = 2, .nodes = 2}, Patient());
  Tell(c, 1, "the prolog failed");
  Tell(c, 3, "the prolog failed");
  const JobId waits = c.Submit(Spec(2));
  const Blocker out = c.Blockers(waits).at(0);
  EXPECT_EQ(out.kind, BlockerKind::kNodesOut);
  EXPECT_THAT(out.message, HasSubstr("2 of 4 nodes that fit take jobs, and zones and links allow 1 of them together"));
  EXPECT_FALSE(Why(c, waits).promised_by);
}

// What is tried is tried on the job as it is, its backoff included: at a higher class it would not start now either.
TEST(NodesOut, DuringABackoffNothingIsTried) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const JobId job = c.Submit(SpecWith(1, [](JobSpec& s) { s.priority = PriorityClass::kLow; }));
  c.script(job).runs = false;
  c.Settle();
  c.EditAll(job, [](ObservedTask& task) {
    task.phase = TaskPhase::kReleased;
    task.start_failed = true;
    task.message = "runc was killed";
  });
  c.Settle();
  ASSERT_EQ(c.job(job).state, JobState::kQueued);
  ASSERT_GT(c.job(job).not_before, c.now());
  const Explanation why = Why(c, job);
  EXPECT_TRUE(why.counterfactuals.empty()) << why.counterfactuals.at(0).message;
}

}  // namespace
}  // namespace glim::core
