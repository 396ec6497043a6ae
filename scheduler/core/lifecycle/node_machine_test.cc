// The life of a node: registration, silence, loss and return, outages, quarantine.
#include "scheduler/core/lifecycle/node_machine.h"
#include "scheduler/core/lifecycle/desired.h"
#include "scheduler/core/testing/cluster_builder.h"

#include <gtest/gtest.h>

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Labels;
using testing::Spec;
using testing::Zones;

NodeReported Report(Cluster& c, NodeId node, std::vector<ObservedTask> tasks, bool current = true) {
  return {node, c.session(node), current, std::move(tasks)};
}

ObservedTask SeenTask(AttemptId attempt, TaskPhase phase = TaskPhase::kRunning) {
  ObservedTask task;
  task.id = {attempt, 0};
  task.phase = phase;
  return task;
}

TEST(Registration, ANewNodeIsReadyAndKnownByItsName) {
  Cluster c(Zones{.zones = 0});
  const Reply reply = c.Connect("gpu-7", Labels("z1", "l1"));
  EXPECT_TRUE(reply.status.ok());
  const Node& node = c.node(reply.node);
  EXPECT_EQ(node.name, "gpu-7");
  EXPECT_EQ(node.state, NodeState::kReady);
  EXPECT_TRUE(IsFree(node));
  EXPECT_EQ(c.Noted(HistoryKind::kNodeRegistered), 1);
  EXPECT_TRUE(c.unsynced().contains(reply.node));
}

TEST(Registration, TheSameMachineComesBackAsTheSameNode) {
  Cluster c;
  NodeLabels more = Labels("z1", "z1-l1", 16);
  const Reply again = c.Connect("n1", more);
  EXPECT_EQ(again.node, NodeId(1));
  EXPECT_EQ(c.node(NodeId(1)).labels, more);
  EXPECT_EQ(c.state().tables().nodes.size(), 2u);
}

TEST(Registration, ItsReplicaServiceMayComeMoveAndGo) {
  Cluster c;
  for (const char* address : {"n1:7010", "n1:7011", ""}) {
    c.Connect("n1", c.node(NodeId(1)).labels, address);
    EXPECT_EQ(c.node(NodeId(1)).replica, address);
    EXPECT_EQ(c.state().index().replica_services.size(), address[0] ? 1u : 0u);
  }
}

TEST(Registration, ASecondMachineUnderTheSameNameIsRefused) {
  Cluster c;
  const Node before = c.node(NodeId(1));
  NodeConnected other;
  other.session = 99;
  other.name = "n1";
  other.machine_id = "another";
  const Reply reply = c.Do(other);
  EXPECT_EQ(reply.status.code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(reply.status.reason(), "NODE_NAME_TAKEN");
  EXPECT_EQ(c.node(NodeId(1)), before);
  EXPECT_NE(c.state().liveness[NodeId(1)].session, 99u);
}

TEST(Sessions, OnlyTheNewestIsListenedTo) {
  Cluster c;
  const std::uint64_t old = c.session(NodeId(1));
  c.Connect("n1", c.node(NodeId(1)).labels);
  c.Do(NodeDisconnected{NodeId(1), old});
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kReady) << "the stream that ended was replaced long ago";
  c.Do(NodeReported{NodeId(1), old, true, {SeenTask({JobId(9), 1})}});
  EXPECT_TRUE(c.node(NodeId(1)).orphans.empty());
}

TEST(Sessions, UnknownNodesAreIgnored) {
  Cluster c;
  c.Do(NodeReported{NodeId(77), 5, true, {SeenTask({JobId(1), 1})}});
  c.Do(NodeDisconnected{NodeId(77), 5});
  EXPECT_EQ(c.state().FindNode(NodeId(77)), nullptr);
}

TEST(Silence, AnEndedStreamSilencesAtOnceAndAReturnMendsIt) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Silence(NodeId(1), true);
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kSilent);
  EXPECT_EQ(c.job(job).state, JobState::kRunning) << "silence alone harms nobody";
  c.Advance(Seconds(30));
  c.Return(NodeId(1));
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kReady);
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(c.job(job).attempts, 1u);
}

TEST(Silence, ANodeIsSilentAfterAQuarterOfTheBound) {
  Cluster c;
  c.Silence(NodeId(1));
  c.Advance(c.policy().node_lost_after / 4 - Milliseconds(1));
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kReady);
  c.Advance(Milliseconds(1));
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kSilent);
}

TEST(Silence, NothingNewIsPlacedThere) {
  Cluster c;
  c.Silence(NodeId(1), true);
  const JobId job = c.Submit(Spec(1));
  EXPECT_EQ(c.attempt(job).nodes, std::vector{NodeId(2)});
}

TEST(Loss, AfterNodeLostAfterTheJobGoesOnElsewhere) {
  Cluster c(Zones{.nodes = 3});
  const JobId job = c.Running(Spec(2));
  c.Silence(NodeId(1));
  c.Advance(c.policy().node_lost_after);
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kLost);
  EXPECT_EQ(c.node(NodeId(1)).suspect, 1u);
  EXPECT_FALSE(c.node(NodeId(1)).holder);
  EXPECT_EQ(c.node(NodeId(1)).stale_tasks.size(), 1u);
  EXPECT_EQ(c.attempt(job).stop, StopCause::kNodeFailure);
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kNodeFailure);
  EXPECT_EQ(c.job(job).state, JobState::kRunning) << "at once: the first restart has no pause";
  EXPECT_EQ(c.attempt(job).nodes, (std::vector{NodeId(2), NodeId(3)}));
}

// Nobody else may come to that node for long, and until then its agent would keep what it has of the task.
TEST(Loss, AStaleTaskThatIsGoneIsListedNoMoreAndItsAgentHears) {
  Cluster c;
  const JobId job = c.Running(Spec(1));
  c.script(job).stuck = true;
  c.Silence(NodeId(1));
  c.Advance(c.policy().node_lost_after);
  c.Return(NodeId(1));
  c.Settle();
  ASSERT_FALSE(c.unsynced().contains(NodeId(1)));
  testing::ScriptedAgent::Release(c.agent(NodeId(1)).tasks.at({{job, 1}, 0}), 137);
  c.Report(NodeId(1), true);
  EXPECT_TRUE(c.unsynced().contains(NodeId(1)));
  EXPECT_TRUE(DesiredFor(c.state().tables(), NodeId(1)).empty());
}

TEST(Loss, AReturningStaleTaskIsStoppedBeforeTheNodeIsUsed) {
  Cluster c(Zones{.nodes = 2});
  const JobId job = c.Running(Spec(1));
  c.script(job).stuck = true;
  c.Silence(NodeId(1));
  c.Advance(c.policy().node_lost_after);
  c.Return(NodeId(1));
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kReady);
  EXPECT_FALSE(IsFree(c.node(NodeId(1)))) << "the old task is still there";
  const auto desired = DesiredFor(c.state().tables(), NodeId(1));
  ASSERT_EQ(desired.size(), 1u);
  EXPECT_TRUE(desired[0].stop);
  EXPECT_EQ(desired[0].id, (TaskId{{job, 1}, 0}));
  c.script(job).stuck = false;
  c.Settle();
  EXPECT_TRUE(IsFree(c.node(NodeId(1))));
}

TEST(Loss, AStaleTaskThatTheRebootTookIsGone) {
  Cluster c;
  c.Running(Spec(1));
  c.Silence(NodeId(1));
  c.Advance(c.policy().node_lost_after);
  c.agent(NodeId(1)).tasks.clear();
  c.Connect("n1", c.node(NodeId(1)).labels);
  c.Report(NodeId(1), false);
  EXPECT_FALSE(IsFree(c.node(NodeId(1)))) << "an agent that is not up to date proves nothing by silence";
  c.Report(NodeId(1), true);
  EXPECT_FALSE(IsFree(c.node(NodeId(1)))) << "what it does not tell of, it has not released";
  c.Settle();  // the agent answers the stop of what it does not know
  EXPECT_TRUE(IsFree(c.node(NodeId(1))));
}

TEST(Loss, AClaimantLooksElsewhere) {
  Cluster c(Zones{.nodes = 2});
  const JobId victim = c.Running(Spec(1, PriorityClass::kLow));
  c.script(victim).acks = false;
  c.Running(Spec(1));
  const JobId urgent = c.Submit(Spec(1, PriorityClass::kHigh), "bob");
  ASSERT_EQ(c.node(NodeId(1)).claim, c.attempt(urgent).id);
  c.Silence(NodeId(1));
  c.Advance(c.policy().node_lost_after);
  EXPECT_EQ(c.attempt(urgent, 1).outcome, Outcome::kClaimDropped);
  EXPECT_EQ(c.attempt(urgent).nodes, std::vector{NodeId(2)});
}

struct Outage {
  int nodes;
  int silent;
  bool outage;
};

TEST(OutageRule, MoreThanAFifthAndAtLeastTwo) {
  const Outage kRows[] = {
      {1, 1, false}, {2, 1, false},  {2, 2, true},  {4, 1, false},  {5, 2, true},
      {9, 2, true},  {10, 2, false}, {10, 3, true}, {20, 4, false}, {20, 5, true},
  };
  for (const Outage& row : kRows) {
    SCOPED_TRACE(std::to_string(row.silent) + " of " + std::to_string(row.nodes));
    Cluster c(Zones{.nodes = row.nodes});
    for (int n = 1; n <= row.silent; ++n) c.Silence(NodeId(static_cast<std::uint32_t>(n)));
    c.Advance(c.policy().node_lost_after);
    EXPECT_EQ(c.state().outage, row.outage);
    EXPECT_EQ(c.node(NodeId(1)).state, row.outage ? NodeState::kSilent : NodeState::kLost);
  }
}

TEST(OutageRule, NobodyIsLostUntilAgentsReturn) {
  Cluster c(Zones{.nodes = 5});
  const JobId job = c.Running(Spec(2));
  for (const NodeId node : {NodeId(1), NodeId(2), NodeId(3)}) c.Silence(node);
  c.Advance(Hours(1));
  EXPECT_TRUE(c.state().outage);
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  c.Return(NodeId(2));
  c.Return(NodeId(3));
  c.Advance(Seconds(20));
  EXPECT_FALSE(c.state().outage);
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kSilent) << "it may be the last to come back";
  c.Advance(c.policy().node_lost_after / 4);
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kLost) << "one alone is a loss";
  EXPECT_EQ(c.node(NodeId(2)).state, NodeState::kReady);
  EXPECT_EQ(c.Noted(HistoryKind::kOutageBegan), 1);
  EXPECT_EQ(c.Noted(HistoryKind::kOutageEnded), 1);
}

// As agents fall silent in a real outage: each in the middle of its own heartbeat.
TEST(OutageRule, NodesThatFallSilentOneAfterTheOtherAreOneOutage) {
  for (const Duration apart : {Milliseconds(100), Seconds(1), Seconds(15)}) {
    SCOPED_TRACE(apart.ms);
    Cluster c(Zones{.nodes = 6});
    const JobId job = c.Running(Spec(2));
    for (const NodeId node : {NodeId(1), NodeId(2), NodeId(3)}) {
      c.Silence(node);
      c.Advance(apart);
    }
    c.Advance(Minutes(5));
    EXPECT_TRUE(c.state().outage);
    for (const NodeId node : {NodeId(1), NodeId(2), NodeId(3)}) EXPECT_EQ(c.node(node).state, NodeState::kSilent);
    EXPECT_EQ(c.job(job).state, JobState::kRunning);
    EXPECT_EQ(c.Noted(HistoryKind::kNodeLost), 0);
  }
}

// Nodes in repair are known to be away.
TEST(QuarantineRule, NodesInRepairDoNotMakeALossAnOutage) {
  Cluster c(Zones{.nodes = 8});
  const JobId job = c.Running(Spec(2));
  c.script(job).stuck = true;
  c.Cancel(job);
  c.Advance(Seconds(65));
  ASSERT_EQ(c.node(NodeId(2)).state, NodeState::kQuarantined);
  c.Silence(NodeId(1));
  c.Silence(NodeId(2));
  c.Advance(Hours(1));
  EXPECT_FALSE(c.state().outage);
  c.Silence(NodeId(8));
  c.Advance(Minutes(2));
  EXPECT_FALSE(c.state().outage);
  EXPECT_EQ(c.node(NodeId(8)).state, NodeState::kLost);
}

TEST(ReturnNodeOrder, ForgivesSuspicionAndKnowsItsNodes) {
  Cluster c;
  const JobId job = c.Submit(Spec(1));
  c.script(job).starts = false;
  c.Settle();
  EXPECT_EQ(c.node(NodeId(1)).suspect, 1u);
  EXPECT_TRUE(c.Do(ReturnNode{"n1"}).status.ok());
  EXPECT_EQ(c.node(NodeId(1)).suspect, 0u);
  const Reply unknown = c.Do(ReturnNode{"n9"});
  EXPECT_EQ(unknown.status.code(), StatusCode::kNotFound);
  EXPECT_EQ(unknown.status.field(), "node");
}

TEST(Absence, OfATaskInACurrentReportIsALoss) {
  Cluster c;
  const JobId job = c.Running(Spec(1));
  c.Do(Report(c, NodeId(1), {}, false));
  EXPECT_EQ(c.job(job).state, JobState::kRunning) << "an agent that is not up to date proves nothing";
  c.agent(NodeId(1)).tasks.clear();
  c.Report(NodeId(1));
  EXPECT_EQ(c.attempt(job).stop, StopCause::kNodeFailure);
  EXPECT_TRUE(c.task(job, 0).lost);
  EXPECT_EQ(c.node(NodeId(1)).holder, (AttemptId{job, 1})) << "nobody has said that the node is empty";
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kNodeFailure);
  EXPECT_FALSE(c.node(NodeId(1)).holder);
}

TEST(Absence, OfATaskThatIsYetToBeLaunchedMeansNothing) {
  Cluster c;
  const JobId job = c.Submit(Spec(1));
  c.Do(Report(c, NodeId(1), {}, true));
  EXPECT_EQ(c.job(job).state, JobState::kStarting);
  EXPECT_TRUE(DesiredFor(c.state().tables(), NodeId(1)).at(0).launch);
}

}  // namespace
}  // namespace glim::core
