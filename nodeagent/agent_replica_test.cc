// The node's replica service as the agent knows it, and the tokens that tasks get for others' memory. The test writes
// what a service writes: the service itself has tests of its own (sdk/checkpoint/replica).
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "nodeagent/options/secrets_folder.h"
#include "nodeagent/os/processes.h"
#include "nodeagent/task/task_files.h"
#include "nodeagent/testing/agent_fixture.h"
#include "sdk/checkpoint/replica/node_files.h"
#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReplicaToken = "glimr_0123456789abcdef-the-attempts-own";
constexpr const char* kWithoutAWord = "GLIMR_0123456789ABCDEF-THE-ATTEMPTS-OWN";

class ReplicaTest : public AgentTest {
 protected:
  std::string state_file() const { return folder_ + "/replica-state"; }
  std::string keys_file() const { return folder_ + "/replica-keys"; }
  std::vector<std::string> Options() const { return {"--replica-state", state_file(), "--replica-keys", keys_file()}; }
  // As a service that has started does; it is there as long as the descriptor.
  UniqueFd Serve(const checkpoint::ReplicaState& state) const {
    auto held = checkpoint::PublishState(state_file(), state);
    EXPECT_TRUE(held.ok()) << held.status().message();
    return held.ok() ? std::move(held).value() : UniqueFd();
  }
  // What the agent says in its `count`th Hello.
  std::string ToldAddress(int count) {
    EXPECT_TRUE(scheduler_.WaitHello(count));
    const v1::Hello hello = scheduler_.last_hello();
    EXPECT_EQ(hello.replica_key().empty(), hello.replica_address().empty());
    return hello.replica_address();
  }
};

class AgentReplicaServiceTest : public ReplicaTest {};
INSTANTIATE_TEST_SUITE_P(Runtimes, AgentReplicaServiceTest, testing::Values("process"),
                         [](const auto& info) { return info.param; });

class AgentReplicaTokenTest : public ReplicaTest {
 protected:
  void LaunchWithToken(const std::string& run) {
    Launch(kKey, run, [](v1::TaskLaunch& launch) {
      launch.set_replica_token(kReplicaToken);
      v1::EnvVar& peer = *launch.add_env();
      peer.set_name("GLIM_REPLICA_PEER");
      peer.set_value(std::string(64, 'a') + "@127.0.0.1:1");
    });
    Send();
  }
};
GLIM_FOR_EACH_RUNTIME(AgentReplicaTokenTest);

Ed25519Key NewKey() { return PublicKeyOf(MakeEd25519Seed()); }
std::string BytesOf(const Ed25519Key& key) { return {reinterpret_cast<const char*>(key.data()), key.size()}; }

TEST_P(AgentReplicaServiceTest, IsToldWithItsKey) {
  const Ed25519Key key = NewKey();
  const UniqueFd held = Serve({"10.0.0.7:4100", key, 1});
  StartAgent(Options());
  EXPECT_EQ(ToldAddress(1), "10.0.0.7:4100");
  EXPECT_EQ(scheduler_.last_hello().replica_key(), BytesOf(key));
}

TEST_P(AgentReplicaServiceTest, ThereIsNoneUnlessTheOperatorSaysSo) {
  const UniqueFd held = Serve({"10.0.0.7:4100", NewKey(), 1});
  StartAgent();
  EXPECT_EQ(ToldAddress(1), "");
  EXPECT_FALSE(fs::exists(keys_file()));
}

TEST_P(AgentReplicaServiceTest, MayComeAndGoAndComeBackAsAnother) {
  StartAgent(Options());
  EXPECT_EQ(ToldAddress(1), "") << "the agent does not wait for it";
  UniqueFd held = Serve({"10.0.0.7:4100", NewKey(), 1});
  EXPECT_EQ(ToldAddress(2), "10.0.0.7:4100");
  held.Reset();  // killed: its file is still there
  EXPECT_EQ(ToldAddress(3), "");
  const Ed25519Key key = NewKey();
  held = Serve({"10.0.0.7:4100", key, 2});
  EXPECT_EQ(ToldAddress(4), "10.0.0.7:4100");
  EXPECT_EQ(scheduler_.last_hello().replica_key(), BytesOf(key)) << "at the same place with another key";
}

TEST_P(AgentReplicaServiceTest, AFileThatNoServiceHoldsIsNone) {
  { const UniqueFd held = Serve({"10.0.0.7:4100", NewKey(), 1}); }
  ASSERT_TRUE(fs::exists(state_file()));
  StartAgent(Options());
  EXPECT_EQ(ToldAddress(1), "");
}

// The folder is the service's user's, who is not to be trusted with more.
TEST_P(AgentReplicaServiceTest, WhatIsInTheFileHarmsNobody) {
  ASSERT_EQ(::mkfifo(state_file().c_str(), 0666), 0);
  StartAgent(Options());
  EXPECT_EQ(ToldAddress(1), "");
  fs::remove(state_file());
  const UniqueFd held = Serve({"no address of any kind", NewKey(), 1});
  EXPECT_TRUE(scheduler_.WaitReport([](const v1::NodeReport&) { return true; }));
  EXPECT_EQ(scheduler_.hellos(), 1);
}

TEST_P(AgentReplicaServiceTest, IsToldWhoseTokensCount) {
  const std::vector<Ed25519Key> keys = {NewKey(), NewKey()};
  scheduler_.TellReplicas({BytesOf(keys[0]), "short", BytesOf(keys[1])}, true);
  StartAgent(Options());
  const auto told = [this] {
    const auto text = ReadFile(keys_file(), checkpoint::kNodeFileBytesMax);
    const auto read = text.ok() ? checkpoint::ParseIssuers(*text) : Result<checkpoint::ReplicaIssuers>(text.status());
    return read.ok() ? *read : checkpoint::ReplicaIssuers();
  };
  EXPECT_TRUE(Eventually([&] { return told() == checkpoint::ReplicaIssuers{cluster_, keys, true}; }));
  struct stat info {};
  ASSERT_EQ(::stat(keys_file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0644U) << "the service is another user";
  scheduler_.TellReplicas({BytesOf(keys[1])}, false);
  scheduler_.Disconnect();
  EXPECT_TRUE(Eventually([&] { return told() == checkpoint::ReplicaIssuers{cluster_, {keys[1]}, false}; }));
}

// Upgraded from a release whose agent started the service: nobody else would end it.
TEST_P(AgentReplicaServiceTest, OneThatAnEarlierAgentStartedIsEnded) {
  const auto noted_and_there = [this](bool same_start) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::execl("/bin/sh", "sh", "-c", "sleep 600 & wait", nullptr);
      ::_exit(1);
    }
    const auto info = ReadProcess(pid);
    EXPECT_TRUE(info);
    (void)::mkdir(state_.c_str(), 0700);
    fs::create_directory(state_ + "/replica");
    const ProcessIdentity noted{*ReadBootId(), pid, info->start_ticks + (same_start ? 0 : 1)};
    EXPECT_TRUE(WriteFileAtomically(state_ + "/replica/process.json", ToJson(noted), Durability::kProcess).ok());
    return pid;
  };
  const pid_t other = noted_and_there(false);
  StartAgent(Options());
  EXPECT_EQ(ToldAddress(1), "");
  EXPECT_FALSE(fs::exists(state_ + "/replica"));
  EXPECT_EQ(::waitpid(other, nullptr, WNOHANG), 0) << "its number alone is another process's by now";
  KillAgent();
  const pid_t former = noted_and_there(true);
  std::vector<ProcessInfo> below;
  EXPECT_TRUE(Eventually([&] { return !(below = Descendants(ListProcesses(), former)).empty(); }));
  StartAgent(Options());
  EXPECT_EQ(ToldAddress(2), "");
  int status = 0;
  EXPECT_TRUE(Eventually([&] { return ::waitpid(former, &status, WNOHANG) == former; }));
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  for (const ProcessInfo& one : below) EXPECT_TRUE(Eventually([&] { return !IsRunning(one.pid); }));
  EXPECT_FALSE(fs::exists(state_ + "/replica"));
  EXPECT_NE(AgentLog().find("event=former_replica_ended pid=" + std::to_string(former)), std::string::npos);
  for (const ProcessInfo& one : Descendants(ListProcesses(), other)) SignalProcess(one, SIGKILL);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
}

TEST_P(AgentReplicaServiceTest, BadOptionsAreRefusedByName) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--replica-state", "/run/x"}, "--replica-state and --replica-keys belong together"},
      {{"--replica-keys", "/run/x"}, "--replica-state and --replica-keys belong together"},
      {{"--replica-state", "x", "--replica-keys", "/run/x"}, "--replica-state: x is no absolute path"},
      {{"--replica-state", "/run/x", "--replica-keys", "x"}, "--replica-keys: x is no absolute path"},
      {{"--replica-memory", "64GiB"}, "--replica-memory is gone: glim-replica is a service of its own now"},
      {{"--replica-tls", "rc tcp"}, "--replica-tls must be"},
      {{"--replica-device", "mlx5 0"}, "--replica-device must be"},
  };
  for (const auto& [options, message] : cases) {
    SCOPED_TRACE(message);
    const std::size_t before = AgentLog().size();
    StartAgent(options);
    EXPECT_EQ(AwaitAgent(), 2);
    EXPECT_NE(AgentLog().find(message, before), std::string::npos) << AgentLog().substr(before);
  }
}

TEST_P(AgentReplicaTokenTest, IsForTheTasksUserAloneAndInNoFileOfTheAgents) {
  StartAgent({"--log-level", "debug"});
  LaunchWithToken(std::string("[ \"$(tr a-z A-Z < $GLIM_REPLICA_TOKEN_FILE)\" = ") + kWithoutAWord +
                  " ] && echo token; stat -c '%a %u' $GLIM_REPLICA_TOKEN_FILE; id -u;"
                  "env | grep -q $(cat $GLIM_REPLICA_TOKEN_FILE) && echo in the environment; echo ready; sleep 1000");
  ASSERT_EQ(WaitLine(kKey, 0, "ready"), "");
  const std::string uid = std::to_string(in_container() ? kTaskUser.uid : ::geteuid());
  EXPECT_EQ(LogText(kKey, 0), "token\n400 " + uid + "\n" + uid + "\nready\n");
  int looked_at = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(root_, fs::directory_options::skip_permission_denied, error), end;
       !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (!fs::is_regular_file(it->symlink_status(gone)) || gone) continue;
    const auto text = ReadFile(it->path().string(), 64 << 20);
    ++looked_at;
    EXPECT_FALSE(text.ok() && text->find(kReplicaToken) != std::string::npos) << it->path();
  }
  EXPECT_GT(looked_at, 5) << "state, launch files, records, logs";
  Stop(kKey, 0);
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_TRUE(Eventually([this] { return !fs::exists(SecretsFolder(state_) + "/" + ToString(kKey)); }));
}

TEST_P(AgentReplicaTokenTest, StaysWhenTheTaskIsAdopted) {
  StartAgent();
  LaunchWithToken("echo ready; while ! [ -e /tmp/never ]; do sleep 0.05; done");
  ASSERT_EQ(WaitLine(kKey, 0, "ready"), "");
  KillAgent();
  StartAgent();
  ASSERT_TRUE(scheduler_.WaitHello(2));
  ASSERT_TRUE(WaitPhase(kKey, kRunning));
  EXPECT_TRUE(fs::exists(SecretsFolder(state_) + "/" + ToString(kKey) + "/replica-token"));
  Stop(kKey, 0);
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
}

TEST_P(AgentReplicaTokenTest, ThereIsNoneWithoutAPlaceForCopies) {
  StartAgent();
  Launch(kKey, "echo \"[${GLIM_REPLICA_TOKEN_FILE-none}]\"");
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_EQ(LogText(kKey, 0), "[none]\n");
  EXPECT_FALSE(fs::exists(SecretsFolder(state_) + "/" + ToString(kKey)));
}

TEST_P(AgentReplicaTokenTest, TasksAreToldOfTheNetworkCard) {
  StartAgent({"--replica-tls", "rc,tcp", "--replica-device", "mlx5_0:1", "--replica-service-level", "3"});
  Launch(kKey, "echo \"$GLIM_REPLICA_TLS $GLIM_REPLICA_DEVICE $GLIM_REPLICA_SERVICE_LEVEL\"");
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_EQ(LogText(kKey, 0), "rc,tcp mlx5_0:1 3\n");
}

}  // namespace
}  // namespace glim::nodeagent
