#include <cstdlib>

#include "nodeagent/testing/agent_fixture.h"
#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

class AgentRestartTest : public AgentTest {
 protected:
  void Touch(const std::string& name) {
    ASSERT_TRUE(WriteFileAtomically(folder_ + "/" + name, "", Durability::kProcess).ok());
  }
  // Says its pid, waits for a file, and ends with 9.
  v1::DesiredTask& LaunchWaiter() {
    return Launch(kKey,
                  "echo started >> starts; echo pid $$; while ! [ -e go ]; do sleep 0.01; done; echo went; exit 9",
                  [this](v1::TaskLaunch& launch) { launch.set_workdir(folder_); });
  }
};

TEST_P(AgentRestartTest, TasksOutliveAKilledAgentAndAreAdopted) {
  StartAgent();
  LaunchWaiter();
  Send();
  const pid_t rank = WaitPid(kKey, 0, "pid ");
  ASSERT_TRUE(WaitPhase(kKey, kRunning));
  KillAgent();
  EXPECT_TRUE(IsRunning(rank));
  StartAgent();  // the scheduler still sends the launch: it must not start a second time
  ASSERT_TRUE(scheduler_.WaitHello(2));
  EXPECT_EQ(scheduler_.last_hello().epoch(), 1u);
  ASSERT_TRUE(scheduler_.WaitReport(
      [&](const v1::NodeReport& r) { return FindTask(r, kKey) && FindTask(r, kKey)->phase() == kRunning; }));
  EXPECT_TRUE(IsRunning(rank)) << "the same process";
  Touch("go");
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->exit_code(), 9);
  EXPECT_FALSE(task->lost());
  EXPECT_EQ(LogText(kKey, 0), "pid " + WaitLine(kKey, 0, "pid ") + "\nwent\n") << "nothing twice, nothing missing";
  EXPECT_EQ(*ReadFile(folder_ + "/starts", 1 << 16), "started\n");
}

// The agent speaks with a scheduler of its own version and of the first release, and leaves one of a later one alone.
TEST_P(AgentRestartTest, SpeaksWithSchedulersOfItsVersions) {
  scheduler_.set_protocol_version(9);
  StartAgent();
  ASSERT_TRUE(scheduler_.WaitHello(2)) << "it goes, and asks again";
  EXPECT_EQ(scheduler_.reports(), 0);
  const auto log = ReadFile(folder_ + "/agent.log", 1 << 20);
  ASSERT_TRUE(log.ok());
  EXPECT_NE(log->find("protocol version 9, this agent"), std::string::npos) << *log;
  scheduler_.set_protocol_version(0);
  const auto any = [](const v1::NodeReport&) { return true; };
  EXPECT_TRUE(scheduler_.WaitReport(any));
  scheduler_.set_protocol_version(1);
  scheduler_.Disconnect();
  ASSERT_TRUE(scheduler_.WaitHello(4));
  EXPECT_TRUE(scheduler_.WaitReport(any));
}

TEST_P(AgentRestartTest, AnExitWhileTheAgentIsAwayIsNotMissed) {
  StartAgent();
  LaunchWaiter();
  Send();
  const pid_t rank = WaitPid(kKey, 0, "pid ");
  ASSERT_TRUE(WaitPhase(kKey, kRunning));
  EXPECT_EQ(EndAgent(), 0);
  EXPECT_TRUE(IsRunning(rank)) << "SIGTERM is for the agent, not for the tasks";
  Touch("go");
  ASSERT_TRUE(Eventually([&] { return !IsRunning(rank); }));
  Listed(kKey).clear_launch();
  Send();
  StartAgent();
  const auto task = WaitPhase(kKey, kReleased);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->exit_code(), 9);
  EXPECT_FALSE(task->lost());
  EXPECT_TRUE(task->ranks(0).exited());
  EXPECT_GT(task->first_output_ms(), 0);
}

TEST_P(AgentRestartTest, AStopGoesOnInTheNextLifeAndNeedsNoScheduler) {
  StartAgent();
  Launch(kKey, "trap '' TERM; echo pid $$; while :; do sleep 1000; done");
  Send();
  const pid_t rank = WaitPid(kKey, 0, "pid ");
  Stop(kKey, Slower(Seconds(3)).ms);  // not over before the agent is killed
  Send();
  const std::uint64_t revision = set_.revision();
  ASSERT_TRUE(scheduler_.WaitReport([&](const v1::NodeReport& r) { return r.revision() == revision; }));
  KillAgent();
  scheduler_.Refuse({grpc::StatusCode::UNAVAILABLE, "gone"});
  EXPECT_TRUE(IsRunning(rank));
  StartAgent();
  EXPECT_TRUE(Eventually([&] { return !IsRunning(rank); }));
}

TEST_P(AgentRestartTest, TwoAgentsNeverShareAFolder) {
  StartAgent();
  ASSERT_TRUE(scheduler_.WaitHello(1));
  const pid_t first = agent_;
  StartAgent();
  EXPECT_EQ(AwaitAgent(), 1);
  EXPECT_NE(AgentLog().find("another glim-agent uses"), std::string::npos);
  agent_ = first;
  EXPECT_EQ(EndAgent(), 0);
}

TEST_P(AgentRestartTest, TheFolderBelongsToOneCluster) {
  cluster_ = "";
  StartAgent();
  EXPECT_EQ(AwaitAgent(), 2) << "no other start mends that";
  EXPECT_NE(AgentLog().find("--cluster-id is missing"), std::string::npos);
  cluster_ = "test";
  StartAgent();
  ASSERT_TRUE(scheduler_.WaitHello(1));
  EXPECT_EQ(EndAgent(), 0);
  cluster_ = "";
  StartAgent();
  ASSERT_TRUE(scheduler_.WaitHello(2));
  EXPECT_EQ(scheduler_.last_hello().cluster_id(), "test") << "remembered";
  EXPECT_EQ(EndAgent(), 0);
  cluster_ = "other";
  StartAgent();
  EXPECT_EQ(AwaitAgent(), 2);
  EXPECT_NE(AgentLog().find("belongs to cluster test, not to other"), std::string::npos);
}

TEST_P(AgentRestartTest, ARefusalIsToldOnceAndTriedAgainSlowly) {
  scheduler_.Refuse({grpc::StatusCode::ALREADY_EXISTS, "node name node-1 belongs to another machine"});
  StartAgent();
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(scheduler_.WaitHello(2));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  const std::string log = AgentLog();
  const std::size_t told = log.find("event=refused");
  ASSERT_NE(told, std::string::npos);
  EXPECT_NE(log.find("belongs to another machine", told), std::string::npos);
  EXPECT_EQ(log.find("event=refused", told + 1), std::string::npos);
  scheduler_.Refuse(grpc::Status::OK);
  EXPECT_TRUE(scheduler_.WaitReport([](const auto&) { return true; }));
}

TEST_P(AgentRestartTest, ABrokenStreamIsOpenedAgain) {
  StartAgent();
  ASSERT_TRUE(scheduler_.WaitReport([](const auto&) { return true; }));
  scheduler_.Disconnect();
  ASSERT_TRUE(scheduler_.WaitHello(2));
}

// The unit tries no other start after status 2 (deploy/systemd/glim-agent.service.in).
TEST_P(AgentRestartTest, AFaultOfTheOptionsOrTheirFileEndsWithStatus2) {
  const std::string file = folder_ + "/agent.yaml";
  ASSERT_TRUE(WriteFileAtomically(file, "nvlink: some\n", Durability::kProcess).ok());
  StartAgent({"--config", file});
  EXPECT_EQ(AwaitAgent(), 2);
  EXPECT_NE(AgentLog().find("\"some\" is unknown"), std::string::npos);
  ASSERT_TRUE(WriteFileAtomically(file, "no_such_field: 1\n", Durability::kProcess).ok());
  StartAgent({"--config", file});
  EXPECT_EQ(AwaitAgent(), 2);
  StartAgent({"--nic", "pigeon"});
  EXPECT_EQ(AwaitAgent(), 2);
}

TEST_P(AgentRestartTest, GpusThatAreNotThereAreRefused) {
  StartAgent({"--gpus", "8"});
  EXPECT_EQ(AwaitAgent(), 1);
  EXPECT_NE(AgentLog().find("--simulated-gpus"), std::string::npos);
}

GLIM_FOR_EACH_RUNTIME(AgentRestartTest);

}  // namespace
}  // namespace glim::nodeagent
