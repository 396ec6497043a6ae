// Nodes in trouble, through the server: a task without its supervisor, a machine that was installed anew.
#include "scheduler/server/testing/fake_agent.h"
#include "scheduler/server/testing/test_server.h"

namespace glim::server {
namespace {

using v1::ObservedTask;

class NodeLifeTest : public ServerTest {
 protected:
  v1::Hello Hello(const std::string& name) { return MakeHello(server_->cluster_id(), name); }
  std::unique_ptr<FakeAgent> Connect(const std::string& name) {
    auto agent = std::make_unique<FakeAgent>(channel_, Hello(name));
    EXPECT_TRUE(agent->WaitWelcome());
    return agent;
  }
  grpc::Status Remove(const std::string& node, bool connected) {
    grpc::ClientContext context;
    v1::RemoveNodeRequest request;
    request.set_node(node);
    request.set_connected(connected);
    v1::RemoveNodeResponse response;
    return admin_->RemoveNode(&context, request, &response);
  }
};

// Its supervisor was killed, its ranks train on: whoever got the node would share its GPUs with them.
TEST_F(NodeLifeTest, ALostTaskIsStoppedAndItsNodeKeptUntilTheRelease) {
  const auto agent = Connect("node-1");
  const std::uint64_t job = MustSubmit(Spec("loses-its-shim"));
  ASSERT_TRUE(agent->WaitLaunch(job));
  agent->Report({Observed(job, 1, 0, ObservedTask::RUNNING, 5)});
  WaitState(job, "running");
  const std::uint64_t next = MustSubmit(Spec("next"));
  ObservedTask task = Observed(job, 1, 0, ObservedTask::EXITED, 5);
  task.set_lost(true);
  task.mutable_ranks(0)->set_exited(false);
  task.add_pids(4711);
  agent->Report({task});
  EXPECT_TRUE(agent->WaitStop(job)) << "what is left of it is stopped";
  EXPECT_EQ(GetNode("node-1").holder().job_id(), job);
  task.set_phase(ObservedTask::RELEASED);
  task.clear_pids();
  agent->Report({task});
  EXPECT_TRUE(agent->WaitLaunch(next));
}

// Its agent came back with another --pool while a job had the node.
TEST_F(NodeLifeTest, LabelsOfAHeldNodeAreShownUntilTheyHold) {
  auto agent = Connect("node-1");
  EXPECT_FALSE(GetNode("node-1").has_next_labels());
  const std::uint64_t job = MustSubmit(Spec("has-the-node"));
  ASSERT_TRUE(agent->WaitLaunch(job));
  agent->Report({Observed(job, 1, 0, ObservedTask::RUNNING, 5)});
  WaitState(job, "running");
  v1::Hello other = Hello("node-1");
  other.mutable_labels()->set_pool("h100");
  FakeAgent again(channel_, other);
  ASSERT_TRUE(again.WaitWelcome());
  ASSERT_TRUE(Eventually([&] { return GetNode("node-1").has_next_labels(); }));
  EXPECT_EQ(GetNode("node-1").labels().pool(), "default");
  EXPECT_EQ(GetNode("node-1").next_labels().pool(), "h100");
  ASSERT_TRUE(again.WaitDesired([](const v1::DesiredState& set) { return set.tasks_size() == 1; }));
  again.Report({Observed(job, 1, 0, ObservedTask::RELEASED, 5)});
  ASSERT_TRUE(Eventually([&] { return GetNode("node-1").labels().pool() == "h100"; }));
  EXPECT_FALSE(GetNode("node-1").has_next_labels());
}

TEST_F(NodeLifeTest, WhatItIsMadeOfIsShownAndLabelsThatDifferKeepJobsAway) {
  v1::Hello hello = Hello("node-1");
  hello.mutable_labels()->set_simulated_gpus(false);
  hello.mutable_labels()->set_gpu_count(8);
  hello.mutable_labels()->set_nvlink("none");
  hello.mutable_labels()->set_nic("ethernet");
  hello.mutable_inventory()->set_cpus(16);
  hello.mutable_inventory()->set_memory_bytes(1 << 30);
  for (std::uint32_t i = 0; i < 7; ++i) {
    hello.mutable_inventory()->add_gpus()->set_index(i);
    hello.mutable_inventory()->mutable_gpus(static_cast<int>(i))->set_type("NVIDIA A100");
  }
  {
    FakeAgent agent(channel_, hello);
    ASSERT_TRUE(agent.WaitWelcome());
    const v1::Node node = GetNode("node-1");
    EXPECT_EQ(node.inventory().cpus(), 16u);
    EXPECT_EQ(node.inventory().gpus_size(), 7);
    EXPECT_EQ(node.hardware_differs(), "its labels say 8 GPUs of A100, its agent found 7 (NVIDIA A100)");
    EXPECT_EQ(node.message(), "labels differ: " + node.hardware_differs());
    const std::uint64_t job = MustSubmit(Spec("waits"));
    ASSERT_TRUE(
        Eventually([&] { return GetJob(job).blockers_size() == 1 && GetJob(job).blockers(0).kind() == "nodes_out"; }));
  }
  hello.mutable_inventory()->add_gpus()->set_type("NVIDIA A100");
  FakeAgent mended(channel_, hello);
  ASSERT_TRUE(mended.WaitWelcome());
  EXPECT_TRUE(mended.WaitLaunch(1)) << "the eighth is there again";
}

TEST_F(NodeLifeTest, ANodeThatWasRemovedRegistersAnew) {
  const auto agent = Connect("node-1");
  v1::Hello another = Hello("node-1");
  another.set_machine_id("installed-anew");
  {
    FakeAgent refused(channel_, another);
    EXPECT_EQ(refused.WaitEnd().value_or(grpc::Status::OK).error_code(), grpc::StatusCode::ALREADY_EXISTS);
  }
  EXPECT_EQ(DetailOf(Remove("", false)).field(), "node");
  EXPECT_EQ(DetailOf(Remove("node-1", false)).reason(), "NODE_CONNECTED");
  EXPECT_TRUE(Remove("node-1", true).ok());
  const auto end = agent->WaitEnd();
  ASSERT_TRUE(end) << "the stream of a node that is no more ends";
  EXPECT_EQ(end->error_code(), grpc::StatusCode::UNAVAILABLE) << "its agent comes again at once";
  EXPECT_EQ(GetNode("node-1").name(), "");
  FakeAgent anew(channel_, another);
  EXPECT_TRUE(anew.WaitWelcome());
  EXPECT_EQ(Remove("node-2", false).error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(NodeLifeTest, AFailedPrologTakesTheNodeOutAndPeopleSeeWhy) {
  const auto agent = Connect("node-1");
  const auto other = Connect("node-2");
  const std::uint64_t job = MustSubmit(Spec("elsewhere"));
  ASSERT_TRUE(agent->WaitLaunch(job));
  ObservedTask task = Observed(job, 1, 0, ObservedTask::RELEASED);
  task.set_start_failed(true);
  task.set_message("the prolog failed: no scratch disk");
  v1::AgentMessage message;
  v1::NodeReport& report = *message.mutable_report();
  report.set_epoch(server_->snapshot()->epoch);
  report.set_revision(1);
  report.set_site_fault("the prolog failed: no scratch disk");
  *report.add_tasks() = task;
  agent->Send(message);
  EXPECT_TRUE(other->WaitLaunch(job)) << "the node's fault: it is tried again elsewhere";
  EXPECT_EQ(GetNode("node-1").state(), "quarantined");
  EXPECT_EQ(GetNode("node-1").message(), "the prolog failed: no scratch disk");
}

TEST_F(NodeLifeTest, TheSocketsThatTasksReachAreShownAndBounded) {
  const auto agent = Connect("node-1");
  v1::AgentMessage message;
  v1::NodeReport& report = *message.mutable_report();
  report.add_exposed_sockets("@/run/x\n\x1b[2J");
  report.add_exposed_sockets(std::string(200, 'a'));
  for (int i = 0; i < 100; ++i) report.add_exposed_sockets("@" + std::to_string(i));
  agent->Send(message);
  ASSERT_TRUE(Eventually([&] { return GetNode("node-1").exposed_sockets_size() > 0; }));
  const v1::Node node = GetNode("node-1");
  EXPECT_EQ(node.exposed_sockets_size(), 32);
  EXPECT_EQ(node.exposed_sockets(0), "@/run/x\\n\\x1b[2J");
  EXPECT_EQ(node.exposed_sockets(1), std::string(108, 'a'));
  message.mutable_report()->clear_exposed_sockets();
  agent->Send(message);
  EXPECT_TRUE(Eventually([&] { return GetNode("node-1").exposed_sockets_size() == 0; }));
}

TEST_F(NodeLifeTest, AnAgentSaysWhoseJobsItRuns) {
  const auto everybodys = Connect("node-1");
  EXPECT_FALSE(GetNode("node-1").has_only_uid() || GetNode("node-1").needs_uid());
  v1::Hello hello = MakeHello(server_->cluster_id(), "node-2");
  hello.set_only_uid(1000);
  hello.set_needs_uid(true);
  FakeAgent own(channel_, hello);
  ASSERT_TRUE(own.WaitWelcome());
  EXPECT_EQ(GetNode("node-2").only_uid(), 1000u);
  EXPECT_TRUE(GetNode("node-2").needs_uid());
  EXPECT_TRUE(everybodys->WaitLaunch(MustSubmit(Spec("not-there"))));
  v1::SubmitRequest request;
  *request.add_specs() = Spec("two", 2);
  v1::SubmitResponse response;
  const v1::ErrorDetail detail = DetailOf(Submit(request, &response));
  EXPECT_EQ(detail.reason(), "INFEASIBLE");
  EXPECT_EQ(detail.field(), "user");
  EXPECT_EQ(detail.fix(), "an operator gives one: glim admin user add kim --uid N --gid N");
}

TEST_F(NodeLifeTest, WithoutAnOutageThereIsNothingToResolve) {
  grpc::ClientContext context;
  v1::ResolveOutageResponse response;
  const grpc::Status status = admin_->ResolveOutage(&context, v1::ResolveOutageRequest(), &response);
  EXPECT_EQ(DetailOf(status).reason(), "NO_OUTAGE");
}

}  // namespace
}  // namespace glim::server
