// A prolog or an epilog of the operator's has failed on a node: the node is taken out, once for each failure.
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;

void Tell(Cluster& c, NodeId node, const std::string& fault) {
  NodeReported report;
  report.node = node;
  report.session = c.session(node);
  report.site_fault = fault;
  c.Do(report);
}

TEST(SiteFault, TakesTheNodeOutUntilTheOperatorReturnsIt) {
  Cluster c;
  Tell(c, NodeId(1), "the prolog failed");
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kQuarantined);
  EXPECT_EQ(c.node(NodeId(1)).message, "the prolog failed");
  EXPECT_EQ(c.node(NodeId(2)).state, NodeState::kReady);
  EXPECT_EQ(c.Do(ReturnNode{"n1"}).state, "ready");
  Tell(c, NodeId(1), "the prolog failed");
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kReady) << "the operator has seen these words";
  Tell(c, NodeId(1), "the prolog failed again");
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kQuarantined);
  EXPECT_EQ(c.Noted(HistoryKind::kNodeQuarantined), 2);
}

TEST(SiteFault, ANewAgentIsNoPardon) {
  Cluster c;
  Tell(c, NodeId(1), "the epilog failed");
  Tell(c, NodeId(1), "");
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kQuarantined);
}

TEST(SiteFault, WhatRunsThereRunsOn) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  Tell(c, NodeId(1), "the epilog of an earlier task failed");
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kQuarantined);
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
}

}  // namespace
}  // namespace glim::core
