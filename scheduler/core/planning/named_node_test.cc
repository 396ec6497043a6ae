// placement.node: a job of one node that names it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/model/feasibility.h"
#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::SpecWith;
using testing::Zones;

JobSpec On(const std::string& node, PriorityClass priority = PriorityClass::kNormal) {
  return SpecWith(1, [&](JobSpec& spec) {
    spec.priority = priority;
    spec.placement.node = node;
  });
}

TEST(ANamedNode, IsTheOneThatTheJobGets) {
  Cluster c(Zones{.nodes = 4});
  EXPECT_THAT(c.attempt(c.Submit(On("n3"))).nodes, ElementsAre(NodeId{3}));
  EXPECT_THAT(c.attempt(c.Submit(On("n2"))).nodes, ElementsAre(NodeId{2}));
}

TEST(ANamedNode, IsWaitedForWhileOthersAreFree) {
  Cluster c(Zones{.nodes = 3});
  const JobId first = c.Running(On("n2"));
  const JobId second = c.Submit(On("n2", PriorityClass::kLow), "eve");
  c.Settle();
  EXPECT_EQ(c.job(second).state, JobState::kQueued);
  EXPECT_FALSE(c.Blockers(second).empty());
  c.Finish(first);
  c.Settle();
  EXPECT_THAT(c.attempt(second).nodes, ElementsAre(NodeId{2}));
}

TEST(ANamedNode, ThatIsCordonedTakesTheJobWhenItIsBack) {
  Cluster c(Zones{.nodes = 2});
  ASSERT_TRUE(c.Do(CordonNode{"n1", "ann", "a new fan", {}}).status.ok());
  const JobId job = c.Submit(On("n1"));
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
  ASSERT_EQ(c.Blockers(job).size(), 1u);
  EXPECT_EQ(c.Blockers(job)[0].kind, BlockerKind::kNodesOut);
  ASSERT_TRUE(c.Do(UncordonNode{"n1", "ann"}).status.ok());
  EXPECT_THAT(c.attempt(job).nodes, ElementsAre(NodeId{1}));
}

TEST(ANamedNode, ThatThePoolDoesNotHaveIsRefused) {
  Cluster c(Zones{.nodes = 2});
  const Status no = CheckFeasible(c.state(), c.policy(), On("n9"), "ann");
  EXPECT_EQ(no.reason(), "INFEASIBLE");
  EXPECT_EQ(no.field(), "placement.node");
  EXPECT_THAT(no.message(), HasSubstr("no node 'n9'"));
  EXPECT_TRUE(CheckFeasible(c.state(), c.policy(), On("n2"), "ann").ok());
}

TEST(ANamedNode, ThatIsNotAsTheRestOfThePlacementAsksIsRefused) {
  Cluster c(Zones{.zones = 2, .nodes = 1});
  JobSpec elsewhere = On("n1");
  elsewhere.placement.zones = {"z2"};
  EXPECT_EQ(CheckFeasible(c.state(), c.policy(), elsewhere, "ann").field(), "placement");
}

}  // namespace
}  // namespace glim::core
