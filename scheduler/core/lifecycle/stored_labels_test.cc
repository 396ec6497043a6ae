// Of a node with an identity the store says what it is.
#include "scheduler/core/lifecycle/stored_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::Labels;
using testing::Spec;
using testing::Zones;

NodeLabels InPool(const std::string& pool, std::uint32_t gpus = 8) {
  NodeLabels labels = Labels("z1", "z1-l1", gpus);
  labels.pool = pool;
  return labels;
}

// n1 is invited to pool b, and is there.
struct Invited : Cluster {
  explicit Invited(std::vector<std::string> fields = {"pool"}) : Cluster(Zones{.nodes = 0}) {
    NodeIdentity row{"n1"};
    row.labels = InPool("b");
    row.labelled = true;
    row.labelled_fields = std::move(fields);
    EXPECT_TRUE(Do(ChangeIdentity{{{row}}, "op"}).status.ok());
  }
  Reply Label(std::vector<std::string> fields, NodeLabels labels, const std::string& address = "") {
    return Do(LabelNode{"n1", std::move(labels), address, std::move(fields), "op"});
  }
  const NodeIdentity& stored() { return *state().identity().nodes.Find("n1"); }
  const NodeId n1{1};
};

TEST(StoredLabels, WinOverTheAgentsOwnWhichAreTold) {
  Invited c;
  c.AddNode(InPool("a"));
  EXPECT_EQ(c.node(c.n1).labels.pool, "b");
  EXPECT_EQ(c.node(c.n1).message, "its agent says pool a, the store says b");
  c.Connect("n1", InPool("b"));
  EXPECT_EQ(c.node(c.n1).message, "");
}

// Of an agent that was started without the option.
TEST(StoredLabels, AreNotContradictedByDefaults) {
  Invited c({"pool", "zone"});
  NodeConnected hello;
  hello.name = "n1";
  hello.machine_id = "m-n1";
  hello.session = 7;
  hello.labels = InPool("default");
  hello.labels.zone = "z9";
  hello.defaults = {"pool", "leaf"};
  ASSERT_TRUE(c.Do(hello).status.ok());
  EXPECT_EQ(c.node(c.n1).labels.pool, "b");
  EXPECT_EQ(c.node(c.n1).message, "its agent says zone z9, the store says z1") << "which it was told";
  EXPECT_EQ(c.stored().labels.leaf, "z1-l1") << "a default holds where nobody said anything";
}

TEST(StoredLabels, AreSeededByTheFirstRegistrationAlone) {
  Invited c;
  c.AddNode(InPool("b"));
  EXPECT_EQ(c.stored().labelled_fields.size(), std::size(kLabelFields));
  EXPECT_EQ(c.stored().labels.zone, "z1");
  NodeLabels moved = InPool("b");
  moved.zone = "z9";
  c.Connect("n1", moved);
  EXPECT_EQ(c.node(c.n1).labels.zone, "z1");
  EXPECT_EQ(c.node(c.n1).message, "its agent says zone z9, the store says z1");
}

TEST(StoredLabels, OfANodeWithoutAnIdentityAreItsAgents) {
  Cluster c(Zones{.nodes = 1});
  c.Connect("n1", InPool("other"));
  EXPECT_EQ(c.node(NodeId(1)).labels.pool, "other");
  EXPECT_EQ(c.Do(LabelNode{"n1", {}, "", {"pool"}, "op"}).status.reason(), "NO_IDENTITY");
  EXPECT_EQ(c.Do(LabelNode{"n7", {}, "", {"pool"}, "op"}).status.reason(), "NO_SUCH_NODE");
}

TEST(StoredLabels, AreChangedAtOnceWhereNothingRuns) {
  Invited c;
  c.AddNode(InPool("a"));
  const Reply reply = c.Label({"pool", "address"}, InPool("c"), "10.0.0.9");
  ASSERT_TRUE(reply.status.ok()) << reply.status.message();
  EXPECT_EQ(reply.state, "now");
  EXPECT_EQ(c.node(c.n1).labels.pool, "c");
  EXPECT_EQ(c.node(c.n1).address, "10.0.0.9");
  EXPECT_EQ(c.Noted(HistoryKind::kNodeRelabelled), 1);
  c.Connect("n1", InPool("a"));
  EXPECT_EQ(c.node(c.n1).labels.pool, "c");
  EXPECT_EQ(c.node(c.n1).address, "10.0.0.9");
  EXPECT_EQ(c.Label({"color"}, {}).status.field(), "fields");
}

TEST(StoredLabels, AreChangedAtTheReleaseWhereSomethingRuns) {
  Invited c;
  c.AddNode(InPool("b"));
  JobSpec spec = Spec(1);
  spec.pool = "b";
  const JobId job = c.Submit(spec);
  c.Settle();
  const std::string address = c.node(c.n1).address;
  EXPECT_EQ(c.Label({"pool", "address"}, InPool("c"), "10.0.0.9").state, "at_release");
  EXPECT_EQ(c.Label({"gpus"}, InPool("c", 4)).status.reason(), "NODE_IN_USE");
  c.Connect("n1", InPool("a"));  // its agent begins anew meanwhile
  EXPECT_EQ(c.node(c.n1).labels.pool, "b");
  EXPECT_EQ(c.node(c.n1).next_labels.pool, "c");
  EXPECT_EQ(c.node(c.n1).address, address);
  c.Finish(job);
  EXPECT_EQ(c.node(c.n1).labels.pool, "c");
  EXPECT_EQ(c.node(c.n1).address, "10.0.0.9");
}

TEST(StoredLabels, FewerGpusThanTheStoreSaysAreAFaultUntilAnOperatorSaysSo) {
  Invited c({"pool", "gpus"});
  c.AddNode(InPool("b", 7));
  EXPECT_EQ(c.node(c.n1).state, NodeState::kQuarantined);
  EXPECT_THAT(c.node(c.n1).message, HasSubstr("gpus 7 of 8"));
  ASSERT_TRUE(c.Label({"gpus"}, InPool("b", 7)).status.ok());
  EXPECT_TRUE(c.Do(ReturnNode{"n1"}).status.ok());
  EXPECT_EQ(c.node(c.n1).state, NodeState::kReady);
  EXPECT_EQ(c.node(c.n1).labels.gpu_count, 7u);
}

TEST(StoredLabels, AHostWhereUsersLogInIsNoNode) {
  Cluster c(Zones{.nodes = 0});
  NodeIdentity row{"gate"};
  row.login = true;
  c.Do(ChangeIdentity{{{row}}, "op"});
  NodeConnected hello;
  hello.name = "gate";
  hello.session = 7;
  EXPECT_EQ(c.Do(hello).status.reason(), "LOGIN_HOST");
  EXPECT_EQ(c.state().tables().nodes.size(), 0u);
}

}  // namespace
}  // namespace glim::core
