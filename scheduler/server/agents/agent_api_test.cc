// Agents' streams: who is let in, what they are told, and jobs that go through them from launch to end.
#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>

#include "scheduler/server/testing/fake_agent.h"
#include "scheduler/server/testing/test_server.h"

namespace glim::server {
namespace {

using ::testing::HasSubstr;
using v1::ObservedTask;

class AgentApiTest : public ServerTest {
 protected:
  v1::Hello Hello(const std::string& name) { return MakeHello(server_->cluster_id(), name); }
  std::unique_ptr<FakeAgent> Connect(const std::string& name) {
    auto agent = std::make_unique<FakeAgent>(channel_, Hello(name));
    EXPECT_TRUE(agent->WaitWelcome());
    return agent;
  }
  grpc::Status Refusal(const v1::Hello& hello) {
    FakeAgent agent(channel_, hello);
    EXPECT_FALSE(agent.WaitWelcome());
    return agent.WaitEnd().value_or(grpc::Status::OK);
  }
  std::map<std::string, std::string> Env(const v1::TaskLaunch& launch) {
    std::map<std::string, std::string> env;
    for (const auto& var : launch.env()) {
      EXPECT_TRUE(env.emplace(var.name(), var.value()).second) << var.name() << " is given twice";
    }
    return env;
  }
  // From launch to running, on the one node of the job.
  void Run(FakeAgent* agent, std::uint64_t job, std::uint32_t attempt, std::int64_t step) {
    ASSERT_TRUE(agent->WaitLaunch(job));
    agent->Report({Observed(job, attempt, 0, ObservedTask::RUNNING, step)});
    WaitState(job, "running");
  }
};

TEST_F(AgentApiTest, RefusesStrangersAndGoesOn) {
  const auto good = Connect("node-1");
  v1::Hello hello = Hello("node-2");
  hello.set_cluster_id("another");
  grpc::Status status = Refusal(hello);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("another"));
  EXPECT_THAT(status.error_message(), HasSubstr(server_->cluster_id()));

  hello = Hello("node-1");
  hello.set_machine_id("somebody-else");
  status = Refusal(hello);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ALREADY_EXISTS);

  for (const char* name : {"", "Node_1", "a b"}) {
    hello = Hello("node-2");
    hello.set_node_name(name);
    status = Refusal(hello);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << name;
    EXPECT_EQ(DetailOf(status).field(), "node_name");
  }
  hello = Hello("node-2");
  hello.mutable_labels()->set_gpu_count(1000);
  EXPECT_EQ(DetailOf(Refusal(hello)).field(), "labels.gpu_count");

  for (const char* address :
       {"neighbour", ":7010", "neighbour:", "neighbour:x", "neighbour:123456", "a:1,b:1", "a b:1"}) {
    hello = Hello("node-2");
    hello.set_replica_address(address);
    EXPECT_EQ(DetailOf(Refusal(hello)).field(), "replica_address") << address;
  }

  EXPECT_EQ(GetNode("node-2").name(), "");
  const std::uint64_t job = MustSubmit(Spec("goes-on"));
  EXPECT_TRUE(good->WaitLaunch(job));
}

TEST_F(AgentApiTest, SenselessMessagesEndOnlyTheirStream) {
  const auto good = Connect("node-1");
  {
    const auto agent = Connect("node-2");
    agent->Report({Observed(0, 0, 0, ObservedTask::RUNNING)});
    EXPECT_EQ(agent->WaitEnd()->error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  {
    const auto agent = Connect("node-2");
    agent->Send(v1::AgentMessage());
    EXPECT_EQ(agent->WaitEnd()->error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  {
    const auto agent = Connect("node-2");
    v1::AgentMessage twice;
    *twice.mutable_hello() = Hello("node-2");
    agent->Send(twice);
    EXPECT_EQ(agent->WaitEnd()->error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
  EXPECT_TRUE(good->WaitLaunch(MustSubmit(Spec("goes-on", 1))));
}

// Bytes that are no AgentMessage, sent through a stream without types.
TEST_F(AgentApiTest, ATornMessageIsRefusedAsSuch) {
  grpc::GenericStub stub(channel_);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + LongWait());
  auto call = stub.PrepareCall(&context, "/glim.v1.AgentApi/Sync", &queue);
  const auto wait = [&] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  call->StartCall(nullptr);
  ASSERT_TRUE(wait());
  const grpc::Slice torn(std::string("\x0a\xff\xff\xff\x0f torn"));
  call->Write(grpc::ByteBuffer(&torn, 1), nullptr);
  ASSERT_TRUE(wait());
  grpc::Status status;
  call->Finish(&status, nullptr);
  ASSERT_TRUE(wait());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("torn"));
}

TEST_F(AgentApiTest, ANewStreamOfTheSameMachineReplacesTheOld) {
  const auto old = Connect("node-1");
  const auto fresh = Connect("node-1");
  EXPECT_EQ(old->WaitEnd()->error_code(), grpc::StatusCode::ABORTED);
  EXPECT_TRUE(fresh->WaitLaunch(MustSubmit(Spec("job"))));
  EXPECT_EQ(GetNode("node-1").state(), "ready");
  EXPECT_EQ(GetNode("node-1").census(), "best_effort") << "as its agent says";
}

TEST_F(AgentApiTest, AClosedStreamMakesTheNodeSilentAndAReturnReady) {
  auto agent = Connect("node-1");
  EXPECT_TRUE(agent->Close().ok());
  EXPECT_TRUE(Eventually([&] { return GetNode("node-1").state() == "silent"; }));
  agent = Connect("node-1");
  EXPECT_TRUE(Eventually([&] { return GetNode("node-1").state() == "ready"; }));
}

TEST_F(AgentApiTest, AJobGoesFromLaunchToSuccess) {
  const auto one = Connect("node-1");
  const auto two = Connect("node-2");
  v1::JobSpec spec = Spec("pair", 2);
  spec.mutable_checkpoint()->set_dir("/ckpt/$GLIM_JOB_NAME/${GLIM_JOB_ID}");
  auto* var = spec.add_env();
  var->set_name("LR");
  var->set_value("0.1");
  const std::uint64_t job = MustSubmit(spec);
  const auto first = one->WaitLaunch(job);
  const auto second = two->WaitLaunch(job);
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->index(), second->index());
  EXPECT_EQ(first->launch().run(), "python train.py");
  EXPECT_EQ(first->launch().ranks(), 1u);
  EXPECT_EQ(first->launch().gpus(), 8u);
  auto env = Env(first->launch());
  const std::string id = std::to_string(job);
  const std::string index = std::to_string(first->index());
  EXPECT_EQ(env["LR"], "0.1");
  EXPECT_FALSE(env.contains("RANK"));
  EXPECT_EQ(env["PET_NNODES"], "2");
  EXPECT_EQ(env["PET_NPROC_PER_NODE"], "8");
  EXPECT_EQ(env["GLIM_JOB_ID"], id);
  EXPECT_EQ(env["GLIM_ATTEMPT"], "1");
  EXPECT_EQ(env["GLIM_NODE_RANK"], index);
  EXPECT_EQ(env["NNODES"], "2");
  EXPECT_EQ(env["GLIM_HOSTS"], first->index() == 0 ? "10.0.0.1,10.0.0.2" : "10.0.0.2,10.0.0.1");
  EXPECT_EQ(env["MASTER_ADDR"], env["GLIM_HOSTS"].substr(0, 8));
  EXPECT_EQ(env["GLIM_ZONES"], "A,A");
  EXPECT_EQ(env["GLIM_RESUME_STEP"], "-1");
  EXPECT_EQ(first->launch().checkpoint_dir(), "/ckpt/pair/" + id);
  for (const char* agents : {"GLIM_RANK", "GLIM_TASK", "GLIM_GPUS_SIMULATED", "GLIM_CHECKPOINT_DIR"}) {
    EXPECT_FALSE(env.contains(agents)) << agents << " is the agent's to set";
  }
  EXPECT_EQ(env["MASTER_PORT"], Env(second->launch())["MASTER_PORT"]);
  EXPECT_GT(std::stoi(env["MASTER_PORT"]), 1023);
  EXPECT_EQ(std::stoi(env["GLIM_HFREDUCE_PORT"]), std::stoi(env["MASTER_PORT"]) + 1);

  one->Report({Observed(job, 1, first->index(), ObservedTask::RUNNING, 3)});
  two->Report({Observed(job, 1, second->index(), ObservedTask::RUNNING, 4)});
  const v1::Job running = WaitState(job, "running");
  ASSERT_EQ(running.attempts_size(), 1);
  EXPECT_EQ(running.attempts(0).last_step(), 4);
  EXPECT_GE(running.attempts(0).start().start_ms(), 0);
  EXPECT_GE(running.attempts(0).start().queued_ms(), 0);
  EXPECT_EQ(running.attempts(0).start().notify_ms(), -1);
  EXPECT_EQ(GetNode("node-1").holder().job_id(), job);

  one->Report({Observed(job, 1, first->index(), ObservedTask::RELEASED, 9)});
  two->Report({Observed(job, 1, second->index(), ObservedTask::RELEASED, 9)});
  const v1::Job done = WaitState(job, "succeeded");
  EXPECT_EQ(done.attempts(0).outcome(), "succeeded");
  EXPECT_EQ(done.attempts(0).tasks_size(), 2);
  EXPECT_TRUE(one->WaitDesired([](const v1::DesiredState& set) { return set.tasks_size() == 0; }));
}

TEST_F(AgentApiTest, ACancelledJobIsStoppedThroughItsAgent) {
  const auto agent = Connect("node-1");
  const std::uint64_t job = MustSubmit(Spec("unwanted"));
  Run(agent.get(), job, 1, 0);
  grpc::ClientContext context;
  SetUser(&context);
  v1::CancelRequest request;
  request.set_job_id(job);
  v1::CancelResponse response;
  ASSERT_TRUE(client_->Cancel(&context, request, &response).ok());
  EXPECT_EQ(response.state(), "cancelling");
  const auto task = agent->WaitStop(job);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->stop().term_ms(), config_.policy.kill_after_term.ms);
  agent->Report({Observed(job, 1, 0, ObservedTask::RELEASED)});
  WaitState(job, "cancelled");
}

v1::Agreement ExpectSavedAt44(const v1::Job& interrupted) {
  EXPECT_EQ(interrupted.state(), "queued");
  EXPECT_EQ(interrupted.interrupts(), 1u);
  EXPECT_EQ(interrupted.durable_step(), 44);
  EXPECT_EQ(interrupted.durable_path(), "/ckpt/44");
  EXPECT_EQ(interrupted.attempts(0).outcome(), "interrupted");
  EXPECT_EQ(interrupted.attempts(0).save(), "saved");
  EXPECT_EQ(interrupted.attempts(0).steps_lost(), 0);
  const v1::Agreement& agreement = interrupted.attempts(0).agreements(0);
  EXPECT_EQ(agreement.stop_step(), 44);
  EXPECT_EQ(agreement.grace_ms(), 60'000);
  for (const std::int64_t phase :
       {agreement.times().notify_ms(), agreement.times().agree_ms(), agreement.times().save_ms(),
        agreement.times().leave_ms(), agreement.times().release_ms()}) {
    EXPECT_GE(phase, 0);
    EXPECT_LT(phase, LongWaitMs());
  }
  return agreement;
}

// The whole of an interrupt: flag, acknowledgement, stop step, save, leave, release, and the preemptor's launch.
TEST_F(AgentApiTest, AnUrgentJobTakesTheNodeAndTheOtherSavesFirst) {
  const auto agent = Connect("node-1");
  const std::uint64_t victim = MustSubmit(Spec("a-low", 1, "low"), "lee");
  Run(agent.get(), victim, 1, 40);
  const std::uint64_t urgent = MustSubmit(Spec("b-high", 1, "high"), "kim");

  auto order = agent->WaitInterrupt(victim, [](const v1::InterruptOrder& o) { return o.stop_step() < 0; });
  ASSERT_TRUE(order);
  EXPECT_EQ(order->interrupt().preemptor(), "job " + std::to_string(urgent) + " b-high (high) of user kim");
  EXPECT_FALSE(order->interrupt().reason().empty());
  EXPECT_GT(order->interrupt().grace_left_ms(), 50'000);
  EXPECT_LE(order->interrupt().grace_left_ms(), 60'000);
  const v1::Job claiming = GetJob(urgent);
  ASSERT_GE(claiming.blockers_size(), 1) << claiming.DebugString();
  EXPECT_EQ(claiming.blockers(0).kind(), "claiming");
  EXPECT_EQ(claiming.blockers(0).job_ids(0), victim);

  ObservedTask task = Observed(victim, 1, 0, ObservedTask::RUNNING, 41);
  task.mutable_ranks(0)->set_acked_agreement(order->interrupt().agreement());
  task.mutable_ranks(0)->set_hold(44);
  agent->Report({task});
  order = agent->WaitInterrupt(victim, [](const v1::InterruptOrder& o) { return o.stop_step() == 44; });
  ASSERT_TRUE(order);

  task.mutable_ranks(0)->set_step(44);
  auto* save = task.mutable_ranks(0)->add_saves();
  save->set_step(44);
  save->set_path("/ckpt/44");
  save->set_shards(1);
  save->set_bytes(1000);
  agent->Report({task});
  task.mutable_ranks(0)->set_leaving(true);
  agent->Report({task});
  task.mutable_ranks(0)->set_exited(true);
  task.set_phase(ObservedTask::RELEASED);
  agent->Report({task});
  ASSERT_TRUE(agent->WaitLaunch(urgent));

  const v1::Agreement agreement = ExpectSavedAt44(GetJob(victim));
  EXPECT_EQ(agreement.preemptor().job_id(), urgent);

  agent->Report({Observed(urgent, 1, 0, ObservedTask::RUNNING)});
  const v1::StartTimes start = WaitState(urgent, "running").attempts(0).start();
  EXPECT_EQ(start.notify_ms(), agreement.times().notify_ms());
  EXPECT_EQ(start.save_ms(), agreement.times().save_ms());
  EXPECT_GE(start.release_ms(), agreement.times().release_ms());
  EXPECT_GE(start.start_ms(), 0);

  agent->Report({Observed(urgent, 1, 0, ObservedTask::RELEASED)});
  WaitState(urgent, "succeeded");
  const auto again = agent->WaitLaunch(victim);
  ASSERT_TRUE(again);
  auto env = Env(again->launch());
  EXPECT_EQ(env["GLIM_ATTEMPT"], "2");
  EXPECT_EQ(env["GLIM_RESUME_STEP"], "44");
  EXPECT_EQ(env["GLIM_RESUME_PATH"], "/ckpt/44");
}

// A service of the release before has no key: nobody could tell who answers.
TEST_F(AgentApiTest, AReplicaServiceWithoutAKeyTakesNoCopies) {
  v1::Hello hello = Hello("node-2");
  hello.set_replica_address("10.0.0.2:7010");
  hello.set_replica_key("short");
  EXPECT_EQ(DetailOf(Refusal(hello)).field(), "replica_key");
  hello.clear_replica_key();
  const auto one = Connect("node-1");
  FakeAgent two(channel_, hello);
  ASSERT_TRUE(two.WaitWelcome());
  const std::uint64_t job = MustSubmit(Spec("uncopied"));
  const auto launched = one->WaitLaunch(job);
  ASSERT_TRUE(launched);
  EXPECT_FALSE(Env(launched->launch()).contains("GLIM_REPLICA_PEER"));
}

// Two nodes; the job runs on the first, and the second one's replica service moves and then goes away.
TEST_F(AgentApiTest, ATaskIsToldWhereItsCopiesGoAndWhereThoseOfItsBaseMayBe) {
  const auto connect = [&](const char* name, const char* replica_address) {
    v1::Hello hello = Hello(name);
    hello.set_replica_address(replica_address);
    if (*replica_address != '\0') hello.set_replica_key(std::string(32, '\xab'));
    auto agent = std::make_unique<FakeAgent>(channel_, hello);
    EXPECT_TRUE(agent->WaitWelcome());
    return agent;
  };
  const auto one = connect("node-1", "10.0.0.1:7010");
  auto two = connect("node-2", "10.0.0.2:7010");
  const std::uint64_t job = MustSubmit(Spec("copied"));
  const auto launched = [&](std::uint32_t attempt) {
    const auto set = one->WaitDesired([&](const v1::DesiredState& s) {
      return s.tasks_size() == 1 && s.tasks(0).attempt().number() == attempt && s.tasks(0).has_launch();
    });
    EXPECT_TRUE(set) << "attempt " << attempt;
    return set ? Env(set->tasks(0).launch()) : std::map<std::string, std::string>();
  };
  const auto save_and_leave = [&](std::uint32_t attempt, std::int64_t step) {
    ObservedTask task = Observed(job, attempt, 0, ObservedTask::RELEASED, step);
    auto* rank = task.mutable_ranks(0);
    auto* save = rank->add_saves();
    save->set_step(step);
    save->set_path("/ckpt/" + std::to_string(step));
    save->set_shards(1);
    rank->set_leaving(true);
    rank->set_yielded(true);
    rank->set_exited(true);
    one->Report({task});
  };

  std::string key;
  for (int i = 0; i < 32; ++i) key += "ab";
  auto env = launched(1);
  EXPECT_EQ(env["GLIM_REPLICA_PEER"], key + "@10.0.0.2:7010");
  EXPECT_FALSE(env.contains("GLIM_REPLICA_SOURCES")) << "it begins at the beginning";

  two = connect("node-2", "10.0.0.2:7011");
  save_and_leave(1, 5);
  env = launched(2);
  EXPECT_EQ(env["GLIM_RESUME_STEP"], "5");
  EXPECT_EQ(env["GLIM_REPLICA_PEER"], key + "@10.0.0.2:7011");
  EXPECT_EQ(env["GLIM_REPLICA_SOURCES"], key + "@10.0.0.2:7011");

  two = connect("node-2", "");
  save_and_leave(2, 6);
  env = launched(3);
  EXPECT_EQ(env["GLIM_RESUME_STEP"], "6");
  EXPECT_FALSE(env.contains("GLIM_REPLICA_PEER"));
  EXPECT_FALSE(env.contains("GLIM_REPLICA_SOURCES"));
}

TEST_F(AgentApiTest, ARunningTaskIsAdoptedAfterTheSchedulersRestart) {
  auto agent = Connect("node-1");
  const std::uint64_t job = MustSubmit(Spec("survives"));
  Run(agent.get(), job, 1, 5);
  agent.reset();
  RestartServer();
  agent = Connect("node-1");
  // Reported once: an agent that does not know it must not start it again.
  EXPECT_TRUE(agent->WaitDesired(
      [](const v1::DesiredState& set) { return set.tasks_size() == 1 && !set.tasks(0).has_launch(); }));
  agent->Report({Observed(job, 1, 0, ObservedTask::RUNNING, 6)});
  const v1::Job adopted = WaitJob(
      job, [](const v1::Job& j) { return j.attempts(0).last_step() == 6; }, "the step after the restart");
  EXPECT_EQ(adopted.state(), "running");
  EXPECT_EQ(adopted.attempts_size(), 1);
}

}  // namespace
}  // namespace glim::server
