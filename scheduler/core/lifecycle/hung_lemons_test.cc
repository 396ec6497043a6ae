// Nodes on which jobs stood still: when that is held against them, and when it is the programs' affair.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scheduler/core/lifecycle/lemons.h"
#include "scheduler/core/testing/cluster_builder.h"
#include "scheduler/core/testing/health_reports.h"
#include "scheduler/core/testing/validations.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::SpecWith;
using testing::Zones;

class HungLemonsTest : public ::testing::Test {
 protected:
  // Its attempt stands still, and goes on elsewhere.
  void StandStill(JobId job) {
    const std::uint32_t before = c.job(job).attempts;
    c.Step(job, 7);
    c.Advance(Minutes(32));
    c.Settle();
    ASSERT_EQ(c.attempt(job, before).outcome, Outcome::kHang);
  }
  // One of one node runs on n1.
  JobId Start(std::uint32_t nodes, const std::string& user = "ann") {
    return c.Running(SpecWith(nodes,
                              [](JobSpec& spec) {
                                spec.restart_on = {"hang"};
                                spec.no_progress = Minutes(30);
                                if (spec.nodes == 1) spec.placement.node = "n1";
                              }),
                     user);
  }
  void HangOnce(const std::string& user) {
    const JobId job = Start(1, user);
    StandStill(job);
    c.Cancel(job, user);
    c.Settle();
  }
  // What is held against it, the newest last.
  std::vector<std::string> Causes(NodeId node = NodeId(1)) const {
    std::vector<std::string> causes;
    for (const NodeFailure& failure : c.node(node).failures) causes.push_back(failure.cause);
    return causes;
  }
  const Node& n1() const { return c.node(NodeId(1)); }

  Cluster c{Zones{.nodes = 4}};
};

TEST_F(HungLemonsTest, OfTwoNodesEachIsLikelyEnough) {
  StandStill(Start(2));
  EXPECT_THAT(Causes(), ElementsAre("hang"));
  EXPECT_THAT(Causes(NodeId(2)), ElementsAre("hang"));
}

TEST_F(HungLemonsTest, OfThreeNodesNobodyCanTell) {
  StandStill(Start(3));
  for (const std::uint32_t node : {1, 2, 3}) EXPECT_THAT(Causes(NodeId(node)), IsEmpty());
}

TEST_F(HungLemonsTest, AProgramThatHangsWhereverItIsCountsOnce) {
  const JobId job = Start(1);
  StandStill(job);
  StandStill(job);
  EXPECT_THAT(Causes(), ElementsAre("hang"));
}

TEST_F(HungLemonsTest, ANodeThatIsFoundGoodAfterwardsHasHungNothing) {
  HangOnce("eve");
  ASSERT_THAT(Causes(), ElementsAre("hang"));
  ASSERT_TRUE(testing::MeasuringOf(c, NodeId(1)));
  testing::Measured(c, NodeId(1), 0);
  EXPECT_THAT(Causes(), IsEmpty());
}

class UnmeasuredHangsTest : public HungLemonsTest {
 protected:
  UnmeasuredHangsTest() { c.policy().health.validate.suspects = false; }
};

// Four of eve's jobs took a node out, and eight took two.
TEST_F(UnmeasuredHangsTest, OneUsersProgramsThatHangTakeNoNodeOutAndPushNothingOut) {
  const JobId job = Start(1);
  testing::Tell(c, NodeId(1), {testing::Told(1, "xid", 74)});
  c.Cancel(job);
  c.Settle();
  for (int i = 0; i < 20; ++i) HangOnce("eve");
  EXPECT_FALSE(n1().cordon);
  EXPECT_FALSE(n1().lemon);
  EXPECT_THAT(Causes(), ElementsAre("gpu_failure", "hang"));
  EXPECT_EQ(n1().failures.back().user, "eve");
}

TEST_F(UnmeasuredHangsTest, ThoseOfDifferentUsersDoOnceEach) {
  HangOnce("eve");
  HangOnce("eve");
  EXPECT_FALSE(n1().lemon);
  HangOnce("ann");
  EXPECT_TRUE(n1().lemon) << "two users'";
  HangOnce("bob");
  HangOnce("eve");
  EXPECT_FALSE(n1().cordon);
  HangOnce("dan");
  ASSERT_TRUE(n1().cordon);
  EXPECT_THAT(n1().cordon->reason, ::testing::StartsWith("jobs failed by it 4 times"));
}

TEST_F(UnmeasuredHangsTest, TheyCountNoMoreWhenOneUserIsLeft) {
  c.policy().health.lemons.within = Hours(6);
  HangOnce("eve");
  const TimePoint first = n1().failures.back().at;
  c.Advance(Hours(1));
  HangOnce("ann");
  ASSERT_TRUE(n1().lemon);
  c.Advance(first + Hours(6) - c.now() - Milliseconds(1));
  EXPECT_TRUE(n1().lemon);
  c.Advance(Milliseconds(1));
  EXPECT_FALSE(n1().lemon) << "by a timer";
}

}  // namespace
}  // namespace glim::core
