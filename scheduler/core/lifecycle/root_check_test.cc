// A node that does not see the checkpoint root as the others do takes no job.
#include "scheduler/core/lifecycle/root_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::Spec;
using testing::Zones;

Policy WithRoot() {
  Policy policy = testing::Patient();
  policy.checkpoint_root = "/shared";
  return policy;
}

void Tell(Cluster& c, std::uint32_t node, const std::string& marker, const std::string& error = "") {
  NodeReported report{NodeId{node}, c.session(NodeId{node}), true, {}};
  report.root_marker = marker;
  report.root_error = error;
  c.Do(report);
}

TEST(RootCheck, NothingIsAskedWithoutARoot) {
  Cluster c(Zones{.nodes = 1}, testing::Patient());
  EXPECT_TRUE(IsUsable(c.node(NodeId{1})));
  Tell(c, 1, "", "no such folder");
  EXPECT_TRUE(IsUsable(c.node(NodeId{1})));
}

TEST(RootCheck, ANodeIsUsedWhenItHasLooked) {
  Cluster c(Zones{.nodes = 1}, WithRoot());
  EXPECT_FALSE(IsUsable(c.node(NodeId{1})));
  const JobId job = c.Submit(Spec(1));
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
  Tell(c, 1, "aa");
  EXPECT_TRUE(IsUsable(c.node(NodeId{1})));
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(c.job(job).checkpoint_root, "/shared");
}

TEST(RootCheck, WhatMostReadIsRight) {
  Cluster c(Zones{.nodes = 3}, WithRoot());
  Tell(c, 1, "bb");
  EXPECT_TRUE(IsUsable(c.node(NodeId{1})));  // so far nobody says otherwise
  Tell(c, 2, "aa");
  EXPECT_TRUE(IsUsable(c.node(NodeId{1})));  // of equals, the first node's
  EXPECT_FALSE(IsUsable(c.node(NodeId{2})));
  Tell(c, 3, "aa");
  EXPECT_FALSE(IsUsable(c.node(NodeId{1})));
  EXPECT_TRUE(IsUsable(c.node(NodeId{2})));
  EXPECT_TRUE(IsUsable(c.node(NodeId{3})));
  EXPECT_THAT(c.node(NodeId{1}).root_error, HasSubstr("another folder here"));
  EXPECT_EQ(c.Noted(HistoryKind::kRootNotSeen), 2);
  EXPECT_EQ(c.Noted(HistoryKind::kRootSeen), 1);
}

TEST(RootCheck, WhenTheOneThatDecidedGoesTheOthersAreJudgedAnew) {
  Cluster c(Zones{.nodes = 2}, WithRoot());
  Tell(c, 1, "aa");
  Tell(c, 2, "bb");
  EXPECT_FALSE(IsUsable(c.node(NodeId{2})));
  Tell(c, 1, "", "/shared: Transport endpoint is not connected");
  EXPECT_TRUE(IsUsable(c.node(NodeId{2})));
  Tell(c, 1, "bb");
  EXPECT_TRUE(IsUsable(c.node(NodeId{1})));
  c.Connect("n1", c.node(NodeId{1}).labels);
  EXPECT_TRUE(IsUsable(c.node(NodeId{2})));
  EXPECT_FALSE(IsUsable(c.node(NodeId{1}))) << "its agent has not looked yet";
}

TEST(RootCheck, WhoCannotReadItSaysWhy) {
  Cluster c(Zones{.nodes = 1}, WithRoot());
  Tell(c, 1, "", "/shared: No such file or directory");
  EXPECT_FALSE(IsUsable(c.node(NodeId{1})));
  EXPECT_THAT(c.node(NodeId{1}).root_error, HasSubstr("No such file"));
  Tell(c, 1, "aa");
  EXPECT_TRUE(IsUsable(c.node(NodeId{1})));
}

TEST(RootCheck, TheMarkerIsNamedAfterTheCluster) { EXPECT_EQ(RootMarkerName("c1"), ".glim-root-c1"); }

}  // namespace
}  // namespace glim::core
