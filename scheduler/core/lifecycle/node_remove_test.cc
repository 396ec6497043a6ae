// An operator takes a node out of the cluster: what must be over before, and what goes with it.
#include "scheduler/core/lifecycle/node_remove.h"

#include <gtest/gtest.h>

#include "scheduler/core/model/save_reach.h"
#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Labels;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

constexpr NodeId kGone{1}, kStays{2};

Reply Register(Cluster& c, const std::string& machine) {
  NodeConnected hello;
  hello.session = 99;
  hello.name = "n1";
  hello.machine_id = machine;
  hello.labels = Labels("z1", "z1-l1");
  return c.Do(hello);
}

TEST(RemoveNodeOrder, GivesTheNameToAnotherMachine) {
  Cluster c;
  c.Silence(kGone, true);
  ASSERT_EQ(Register(c, "another").status.reason(), "NODE_NAME_TAKEN");
  EXPECT_TRUE(c.Do(RemoveNode{"n1"}).status.ok());
  EXPECT_EQ(c.state().FindNode(kGone), nullptr);
  EXPECT_EQ(c.Noted(HistoryKind::kNodeRemoved), 1);
  const Reply reply = Register(c, "another");
  EXPECT_TRUE(reply.status.ok());
  EXPECT_EQ(reply.node, NodeId(3)) << "no node gets another's number";
  EXPECT_EQ(c.node(reply.node).name, "n1");
}

TEST(RemoveNodeOrder, IsRefusedWhileAJobHasTheNode) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  for (const bool connected : {false, true}) {
    const Reply reply = c.Do(RemoveNode{"n1", connected});
    EXPECT_EQ(reply.status.reason(), "NODE_IN_USE");
    EXPECT_EQ(reply.status.field(), "node");
    EXPECT_NE(reply.status.fix().find("glim cancel 1"), std::string::npos);
  }
  c.Exit(job, 0, 0);
  ASSERT_TRUE(IsFree(c.node(kGone)));
  EXPECT_EQ(c.Do(RemoveNode{"n1", true}).status.reason(), "NODE_IN_USE") << "its gang is not over yet";
  c.Exit(job, 1, 0);
  EXPECT_TRUE(c.Do(RemoveNode{"n1", true}).status.ok());
}

TEST(RemoveNodeOrder, IsRefusedWhileItsAgentIsConnectedUnlessItSaysSo) {
  Cluster c;
  const Reply refused = c.Do(RemoveNode{"n1"});
  EXPECT_EQ(refused.status.reason(), "NODE_CONNECTED");
  EXPECT_NE(refused.status.fix().find("--connected"), std::string::npos);
  c.Settle();
  ASSERT_FALSE(c.unsynced().contains(kGone));
  EXPECT_TRUE(c.Do(RemoveNode{"n1", true}).status.ok());
  EXPECT_TRUE(c.unsynced().contains(kGone)) << "its stream is to end";
  // What is under way from the old stream is nobody's.
  c.Do(NodeReported{kGone, c.session(kGone), true, {}});
  c.Do(NodeDisconnected{kGone, c.session(kGone)});
  EXPECT_EQ(c.state().FindNode(kGone), nullptr);
}

// The order to stop it goes with the node, and it would train on beside the attempt that took its place.
TEST(RemoveNodeOrder, IsRefusedWhileItsAgentStopsWhatWasWrittenOff) {
  Cluster c;
  const JobId job = c.Running(Spec(1));
  c.Connect("n1", Labels("z1", "z1-l1", 7));
  ASSERT_EQ(c.node(kGone).stale_tasks.size(), 1u);
  const Reply reply = c.Do(RemoveNode{"n1", true});
  EXPECT_EQ(reply.status.reason(), "NODE_IN_USE");
  EXPECT_EQ(reply.status.field(), "node");
  EXPECT_EQ(reply.status.message(), "node n1 may still run a task whose job goes on elsewhere, first of job " +
                                        std::to_string(job.value) + "; its agent is told to stop");
  c.Report(kGone);
  c.Settle();
  EXPECT_TRUE(c.node(kGone).stale_tasks.empty());
  EXPECT_TRUE(c.Do(RemoveNode{"n1", true}).status.ok());
}

TEST(RemoveNodeOrder, KnowsItsNodes) {
  Cluster c;
  const Reply reply = c.Do(RemoveNode{"n9"});
  EXPECT_EQ(reply.status.code(), StatusCode::kNotFound);
  EXPECT_EQ(reply.status.field(), "node");
}

// n1 was enrolled by the machine that it is registered from, as "m-n1", with the GPUs of its first Hello.
void Enrol(Cluster& c, const std::string& machine = "m-n1") {
  NodeIdentity row{"n1"};
  row.machine_id = machine;
  row.serial = "1f";
  row.invite_hash = "invited once more";
  row.labels = Labels("z1", "z1-l1");
  row.labels.pool = "a100";
  row.labelled = true;
  row.labelled_fields.assign(std::begin(kLabelFields), std::end(kLabelFields));
  EXPECT_TRUE(c.Do(ChangeIdentity{{{row}}, "op"}).status.ok());
}
const NodeIdentity* IdentityOf(Cluster& c) { return c.state().identity().nodes.Find("n1"); }

TEST(RemoveNodeOrder, TakesTheCertificateTheInvitationAndTheLabels) {
  Cluster c;
  Enrol(c);
  c.Silence(kGone, true);
  ASSERT_TRUE(c.Do(RemoveNode{"n1"}).status.ok());
  EXPECT_EQ(IdentityOf(c), nullptr) << "the next machine of the name begins with nothing";
  EXPECT_EQ(c.Do(RemoveNode{"n1"}).status.reason(), "NO_SUCH_NODE");
}

TEST(RemoveNodeOrder, OfAConnectedNodeLeavesItsIdentityButForItsGpus) {
  Cluster c;
  Enrol(c);
  c.Connect("n1", Labels("z1", "z1-l1", 7));
  ASSERT_EQ(c.node(kGone).state, NodeState::kQuarantined);
  ASSERT_TRUE(c.Do(RemoveNode{"n1", true}).status.ok());
  ASSERT_NE(IdentityOf(c), nullptr);
  EXPECT_EQ(IdentityOf(c)->serial, "1f") << "its agent comes again at once";
  const Reply again = c.Connect("n1", Labels("z1", "z1-l1", 7));
  EXPECT_EQ(c.node(again.node).labels.gpu_count, 7u) << "with what it has";
  EXPECT_EQ(c.node(again.node).labels.pool, "a100") << "where the operator put it";
  EXPECT_TRUE(IsFree(c.node(again.node)));
}

// It was installed anew, enrolled, and refused under its old name.
TEST(RemoveNodeOrder, LeavesTheIdentityOfAnotherMachineThatWasEnrolledSince) {
  Cluster c;
  Enrol(c, "another");
  c.Silence(kGone, true);
  ASSERT_EQ(Register(c, "another").status.reason(), "NODE_NAME_TAKEN");
  ASSERT_TRUE(c.Do(RemoveNode{"n1"}).status.ok());
  ASSERT_NE(IdentityOf(c), nullptr);
  EXPECT_TRUE(Register(c, "another").status.ok());
}

TEST(RemoveNodeOrder, TakesAnIdentityThatNeverSaidHello) {
  Cluster c(Zones{.nodes = 0});
  Enrol(c);
  ASSERT_TRUE(c.Do(RemoveNode{"n1"}).status.ok());
  EXPECT_EQ(IdentityOf(c), nullptr);
  EXPECT_EQ(c.Noted(HistoryKind::kNodeRemoved), 1);
}

TEST(RemoveNodeOrder, LeavesFewerGpusBehindThanWereLabelled) {
  Cluster c;
  c.Connect("n1", Labels("z1", "z1-l1", 7));
  ASSERT_EQ(c.node(kGone).state, NodeState::kQuarantined);
  EXPECT_TRUE(c.Do(RemoveNode{"n1", true}).status.ok());
  const Reply again = c.Connect("n1", Labels("z1", "z1-l1", 7));
  EXPECT_EQ(c.node(again.node).labels.gpu_count, 7u);
  EXPECT_TRUE(IsFree(c.node(again.node)));
}

// A job whose save lies on n1 alone waits, n2 being all that is left.
struct SavedThere {
  explicit SavedThere(IfUnreachable otherwise) {
    job = c.Submit(SpecWith(1, [&](JobSpec& s) { s.if_unreachable = otherwise; }));
    c.script(job).own_folder = true;
    c.Settle();
    c.Save(job, 30);
    c.Suspend(job);
    c.Settle();
    c.Silence(kGone, true);
    c.Resume(job);
  }
  Cluster c{Zones{.nodes = 2}, testing::Patient()};
  JobId job;
};

TEST(RemoveNodeOrder, GivesUpTheSavesThatLieThereAlone) {
  for (const IfUnreachable otherwise : {IfUnreachable::kOlder, IfUnreachable::kWait}) {
    SavedThere s(otherwise);
    ASSERT_EQ(s.c.job(s.job).waits_for_save, kGone);
    EXPECT_TRUE(s.c.Do(RemoveNode{"n1"}).status.ok());
    EXPECT_FALSE(s.c.job(s.job).waits_for_save) << "it will not be heard again";
    s.c.Settle();
    EXPECT_EQ(s.c.job(s.job).state, JobState::kRunning);
    EXPECT_EQ(s.c.attempt(s.job).nodes, std::vector{kStays});
    EXPECT_EQ(s.c.attempt(s.job).base.step, -1);
    EXPECT_EQ(s.c.Noted(HistoryKind::kSaveGivenUp), 1);
  }
}

TEST(RemoveNodeOrder, OfANeighbourLeavesItsCopiesToNobody) {
  Cluster c(Zones{.zones = 0});
  for (int n = 0; n < 2; ++n) c.AddNode(Labels("z1", "z1-l1"), "somewhere:7010");
  const JobId job = c.Submit(Spec(1));
  c.Settle();
  ASSERT_EQ(c.attempt(job).replicas, std::vector{kStays});
  EXPECT_TRUE(c.Do(RemoveNode{"n2", true}).status.ok());
  EXPECT_EQ(c.attempt(job).replicas, std::vector{NodeId{}});
  EXPECT_TRUE(c.state().index().replica_copies.empty());
}

TEST(RemoveNodeOrder, ForgetsItsBlameToo) {
  Cluster c(Zones{.nodes = 3});
  const JobId job = c.Submit(Spec(1));
  c.script(job).runs = false;
  const auto not_there = [](ObservedTask& task) {
    task.phase = TaskPhase::kReleased;
    task.start_failed = task.path_missing = true;
  };
  c.Settle();
  c.Edit(job, 0, not_there);
  EXPECT_TRUE(c.Do(RemoveNode{"n1", true}).status.ok());
  c.Advance(c.policy().start_backoff);
  c.Settle();
  c.Edit(job, 0, not_there);
  EXPECT_EQ(c.job(job).state, JobState::kFailed) << "a second node has said the same";
}

}  // namespace
}  // namespace glim::core
