// What an agent finds wrong with its own node.
#include "scheduler/core/lifecycle/node_fault.h"

#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;
using testing::Zones;

constexpr const char* kDiskFullWords = "disk_full: /var/lib/glim-agent has no room";

void TellFault(Cluster& c, std::uint32_t node, const std::string& fault) {
  NodeReported report{NodeId{node}, c.session(NodeId{node}), false, {}};
  report.fault = fault;
  c.Do(report);
}

TEST(ANodesFault, KeepsJobsAwayUntilItIsOver) {
  Cluster c(Zones{.nodes = 2});
  TellFault(c, 1, kDiskFullWords);
  EXPECT_EQ(c.attempt(c.Submit(Spec(1))).nodes, std::vector{NodeId(2)});
  const JobId waits = c.Submit(Spec(1));
  EXPECT_EQ(c.job(waits).state, JobState::kQueued);
  TellFault(c, 1, "");
  EXPECT_EQ(c.attempt(waits).nodes, std::vector{NodeId(1)});
}

TEST(ANodesFault, EndsNothingThatRuns) {
  Cluster c(Zones{.nodes = 1});
  const JobId job = c.Running(Spec(1));
  TellFault(c, 1, kDiskFullWords);
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kReady);
}

TEST(ANodesFault, IsToldOnceHoweverOftenItIsReported) {
  Cluster c(Zones{.nodes = 1});
  for (int i = 0; i < 3; ++i) TellFault(c, 1, kDiskFullWords);
  EXPECT_EQ(c.Noted(HistoryKind::kNodeFault), 1);
  EXPECT_EQ(c.Noted(HistoryKind::kNodeFaultOver), 0);
  for (int i = 0; i < 3; ++i) TellFault(c, 1, "");
  EXPECT_EQ(c.Noted(HistoryKind::kNodeFault), 1);
  EXPECT_EQ(c.Noted(HistoryKind::kNodeFaultOver), 1);
}

}  // namespace
}  // namespace glim::core
