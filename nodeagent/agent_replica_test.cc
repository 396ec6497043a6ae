// The node's replica service, which the agent starts and finds again, and the tokens that tasks get for replicas.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "nodeagent/task/task_files.h"
#include "nodeagent/testing/agent_fixture.h"
#include "sdk/checkpoint/replica/token.h"
#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

constexpr TaskKey kOther{8, 1, 0};
constexpr const char* kSecret = "the secret of the cluster of this test";

class ReplicaTest : public AgentTest {
 protected:
  ReplicaTest() { WriteSecret(kSecret); }

  std::string secret_file() const { return folder_ + "/secret"; }
  void WriteSecret(const std::string& secret) {
    EXPECT_TRUE(WriteFileAtomically(secret_file(), secret, Durability::kProcess).ok());
  }
  std::vector<std::string> Options(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"--replica-secret-file", secret_file()};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  std::vector<std::string> ServiceOptions(const std::string& memory = "1MiB") const {
    return Options({"--replica-memory", memory, "--replica-tls", "tcp"});
  }
  // What the agent says in its `count`th Hello.
  std::string ToldAddress(int count) {
    EXPECT_TRUE(scheduler_.WaitHello(count));
    return scheduler_.last_hello().replica_address();
  }
  std::string AgentLog() const {
    const auto text = ReadFile(folder_ + "/agent.log", 1 << 20);
    return text.ok() ? *text : "";
  }
};

// The service has nothing to do with what tasks run in.
class AgentReplicaServiceTest : public ReplicaTest {};
INSTANTIATE_TEST_SUITE_P(Runtimes, AgentReplicaServiceTest, testing::Values("process"),
                         [](const auto& info) { return info.param; });

class AgentReplicaTokenTest : public ReplicaTest {};
GLIM_FOR_EACH_RUNTIME(AgentReplicaTokenTest);

sockaddr_in Loopback(const std::string& address) {
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<std::uint16_t>(std::atoi(address.substr(address.rfind(':') + 1).c_str())));
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return where;
}

bool Answers(const std::string& address) {
  const sockaddr_in where = Loopback(address);
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0;
}

// Takes the port, a free one by "127.0.0.1:0"; the address then.
UniqueFd Take(std::string* address) {
  sockaddr_in where = Loopback(*address);
  socklen_t size = sizeof where;
  const int yes = 1;
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where), 0) << *address;
  EXPECT_EQ(::listen(fd.get(), 1), 0);
  EXPECT_EQ(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&where), &size), 0);
  *address = "127.0.0.1:" + std::to_string(ntohs(where.sin_port));
  return fd;
}

TEST_P(AgentReplicaServiceTest, IsStartedAndTold) {
  StartAgent(ServiceOptions());
  const std::string address = ToldAddress(1);
  EXPECT_TRUE(address.starts_with("127.0.0.1:")) << address;
  EXPECT_TRUE(Answers(address));
  const pid_t pid = ReplicaPid();
  EXPECT_TRUE(IsRunning(pid));
  EXPECT_EQ(::getsid(pid), pid) << "in a session of its own";
  for (const char* name : {"cmdline", "environ"}) {
    const auto words = ReadFile("/proc/" + std::to_string(pid) + "/" + name, 1 << 16);
    ASSERT_TRUE(words.ok());
    EXPECT_EQ(words->find(kSecret), std::string::npos) << name;
  }
}

TEST_P(AgentReplicaServiceTest, IsNotStartedUnlessMemoryIsGiven) {
  StartAgent(Options());
  EXPECT_EQ(ToldAddress(1), "");
  EXPECT_FALSE(std::filesystem::exists(state_ + "/replica"));
}

TEST_P(AgentReplicaServiceTest, OutlivesTheAgentAndIsAdopted) {
  StartAgent(ServiceOptions());
  const std::string address = ToldAddress(1);
  const pid_t pid = ReplicaPid();
  KillAgent();
  EXPECT_TRUE(IsRunning(pid));
  StartAgent(ServiceOptions());
  EXPECT_EQ(ToldAddress(2), address);
  EXPECT_EQ(EndAgent(), 0);
  EXPECT_TRUE(IsRunning(pid)) << "SIGTERM is for the agent, not for the copies";
  StartAgent(ServiceOptions());
  EXPECT_EQ(ToldAddress(3), address);
  EXPECT_EQ(ReplicaPid(), pid);
  EXPECT_TRUE(IsRunning(pid));
}

TEST_P(AgentReplicaServiceTest, ComesBackAtTheSameAddressWhenItDies) {
  StartAgent(ServiceOptions());
  const std::string address = ToldAddress(1);
  const pid_t pid = ReplicaPid();
  ::kill(pid, SIGKILL);
  ASSERT_TRUE(Eventually([&] { return ReplicaPid() > 0 && ReplicaPid() != pid && Answers(address); }));
  EXPECT_TRUE(IsRunning(ReplicaPid()));
  EXPECT_NE(AgentLog().find("event=replica_died"), std::string::npos);
}

TEST_P(AgentReplicaServiceTest, ComesBackAtTheSameAddressWhenItDiedWithoutAnAgent) {
  StartAgent(ServiceOptions());
  const std::string address = ToldAddress(1);
  const pid_t pid = ReplicaPid();
  EXPECT_EQ(EndAgent(), 0);
  ::kill(pid, SIGKILL);
  ASSERT_TRUE(Eventually([&] { return !IsRunning(pid); }));
  StartAgent(ServiceOptions());
  EXPECT_EQ(ToldAddress(2), address);
  EXPECT_NE(ReplicaPid(), pid);
  EXPECT_TRUE(Answers(address));
}

TEST_P(AgentReplicaServiceTest, TellsAnotherAddressWhenItsPortIsTaken) {
  StartAgent(ServiceOptions());
  std::string address = ToldAddress(1);
  const pid_t pid = ReplicaPid();
  ::kill(pid, SIGKILL);
  ASSERT_TRUE(Eventually([&] { return !IsRunning(pid); }));
  const UniqueFd taken = Take(&address);
  const std::string second = ToldAddress(2);
  EXPECT_NE(second, address);
  EXPECT_TRUE(Answers(second));
}

TEST_P(AgentReplicaServiceTest, TheAgentGoesOnWithoutOneThatDoesNotCome) {
  std::string address = "127.0.0.1:0";
  UniqueFd taken = Take(&address);
  std::vector<std::string> options = ServiceOptions();
  options.insert(options.end(), {"--replica-listen", address});
  StartAgent(options);
  EXPECT_EQ(ToldAddress(1), "");
  EXPECT_NE(AgentLog().find("cannot listen on " + address), std::string::npos) << "says why";
  taken.Reset();
  EXPECT_EQ(ToldAddress(2), address) << "told as soon as it is there";
}

TEST_P(AgentReplicaServiceTest, OtherOptionsMakeAnotherProcess) {
  StartAgent(ServiceOptions());
  ASSERT_NE(ToldAddress(1), "");
  const pid_t first = ReplicaPid();
  EXPECT_EQ(EndAgent(), 0);
  StartAgent(ServiceOptions("2MiB"));
  ASSERT_NE(ToldAddress(2), "");
  const pid_t second = ReplicaPid();
  EXPECT_NE(second, first);
  EXPECT_FALSE(IsRunning(first));
  EXPECT_EQ(EndAgent(), 0);
  WriteSecret("another secret, in the same file");
  StartAgent(ServiceOptions("2MiB"));
  ASSERT_NE(ToldAddress(3), "");
  EXPECT_NE(ReplicaPid(), second) << "it would refuse the tokens made of it";
  EXPECT_FALSE(IsRunning(second));
}

TEST_P(AgentReplicaServiceTest, IsEndedWhenNoMemoryIsGivenAnyMore) {
  StartAgent(ServiceOptions());
  ASSERT_NE(ToldAddress(1), "");
  const pid_t pid = ReplicaPid();
  EXPECT_EQ(EndAgent(), 0);
  StartAgent();
  EXPECT_EQ(ToldAddress(2), "");
  EXPECT_TRUE(Eventually([&] { return !IsRunning(pid); }));
}

TEST_P(AgentReplicaServiceTest, OneThatTheAgentCouldNotNoteIsNotLeftBehind) {
  StartAgent(ServiceOptions());
  ASSERT_NE(ToldAddress(1), "");
  const pid_t pid = ReplicaPid();
  KillAgent();
  std::filesystem::remove(state_ + "/replica/process.json");
  StartAgent(ServiceOptions());
  ASSERT_NE(ToldAddress(2), "");
  EXPECT_NE(ReplicaPid(), pid);
  EXPECT_TRUE(Eventually([&] { return !IsRunning(pid); }));
}

TEST_P(AgentReplicaServiceTest, BadOptionsAreRefusedByName) {
  const std::string open = folder_ + "/open", brief = folder_ + "/brief";
  ASSERT_TRUE(WriteFileAtomically(open, kSecret, Durability::kProcess).ok());
  ASSERT_EQ(::chmod(open.c_str(), 0640), 0);
  ASSERT_TRUE(WriteFileAtomically(brief, "too short", Durability::kProcess).ok());
  struct Case {
    std::vector<std::string> options;
    std::string message;
    int status = 2;  // 1: another start may find the file as it must be
  };
  const Case cases[] = {
      {{"--replica-memory", "1MiB"},
       "--replica-memory needs the cluster's secret: name its file with "
       "--replica-secret-file"},
      {{"--replica-secret-file", open}, "--replica-secret-file: " + open + " can be read or changed by others", 1},
      {{"--replica-secret-file", brief}, "--replica-secret-file: it has to be of 16 to 4096 bytes"},
      {{"--replica-secret-file", folder_ + "/none"}, "--replica-secret-file: " + folder_ + "/none: No such file", 1},
      {Options({"--replica-listen", "10.0.0.1"}), "--replica-listen \"10.0.0.1\" is no address"},
      {Options({"--replica-listen", "10.0.0.1:70000"}), "--replica-listen \"10.0.0.1:70000\" is no address"},
      {Options({"--replica-listen", "0.0.0.0:7700"}), "is no address that other nodes could be told"},
      {Options({"--replica-tls", "rc tcp"}), "--replica-tls must be"},
      {Options({"--replica-device", "mlx5 0"}), "--replica-device must be"},
  };
  for (const auto& [options, message, status] : cases) {
    SCOPED_TRACE(message);
    const std::size_t before = AgentLog().size();
    StartAgent(options);
    EXPECT_EQ(AwaitAgent(), status);
    EXPECT_NE(AgentLog().find(message, before), std::string::npos) << AgentLog().substr(before);
  }
}

TEST_P(AgentReplicaTokenTest, IsForTheTasksUserAloneAndOfItsJob) {
  std::vector<std::string> options = Options();
  if (in_container()) options.insert(options.end(), {"--task-user", "4321:4321"});
  StartAgent(options);
  const std::string show =
      "cat $GLIM_REPLICA_TOKEN_FILE; echo; stat -c '%a %u' $GLIM_REPLICA_TOKEN_FILE;"
      "env | grep -q $(cat $GLIM_REPLICA_TOKEN_FILE) && echo in the environment";
  Launch(kKey, show);
  Launch(kOther, show);
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  ASSERT_TRUE(WaitPhase(kOther, kReleased));
  const std::string owner = "\n600 " + std::to_string(in_container() ? 4321 : ::geteuid()) + "\n";
  const std::string token = checkpoint::JobToken(kSecret, "7"), other = checkpoint::JobToken(kSecret, "8");
  EXPECT_EQ(LogText(kKey, 0), token + owner);
  EXPECT_EQ(LogText(kOther, 0), other + owner);
  EXPECT_NE(token, other);
  EXPECT_EQ(ReadFile(TaskPaths(TaskFolder(kKey)).launch(), kLaunchBytesMax)->find(token), std::string::npos);
  EXPECT_EQ(AgentLog().find(token), std::string::npos);
}

TEST_P(AgentReplicaTokenTest, StaysWhenTheTaskIsAdopted) {
  StartAgent(Options());
  Launch(kKey, "while ! [ -e go ]; do sleep 0.01; done; cat $GLIM_REPLICA_TOKEN_FILE",
         [this](v1::TaskLaunch& launch) { launch.set_workdir(folder_); });
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kRunning));
  KillAgent();
  StartAgent(Options());
  ASSERT_TRUE(scheduler_.WaitHello(2));
  ASSERT_TRUE(WaitPhase(kKey, kRunning));
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/go", "", Durability::kProcess).ok());
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_EQ(LogText(kKey, 0), checkpoint::JobToken(kSecret, "7"));
}

TEST_P(AgentReplicaTokenTest, ThereIsNoneWithoutASecret) {
  StartAgent();
  Launch(kKey, "echo \"[${GLIM_REPLICA_TOKEN_FILE-none}]\"");
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  EXPECT_EQ(LogText(kKey, 0), "[none]\n");
  EXPECT_FALSE(std::filesystem::exists(TaskPaths(TaskFolder(kKey)).replica_token()));
}

TEST_P(AgentReplicaTokenTest, TasksAreToldOfTheNetworkCard) {
  StartAgent(Options({"--replica-tls", "rc,tcp", "--replica-device", "mlx5_0:1", "--replica-service-level", "3"}));
  Launch(kKey, "echo \"$GLIM_REPLICA_TLS $GLIM_REPLICA_DEVICE $GLIM_REPLICA_SERVICE_LEVEL\"");
  Launch(kOther, "echo \"$GLIM_REPLICA_TOKEN_FILE\"");
  Send();
  ASSERT_TRUE(WaitPhase(kKey, kReleased));
  ASSERT_TRUE(WaitPhase(kOther, kReleased));
  EXPECT_EQ(LogText(kKey, 0), "rc,tcp mlx5_0:1 3\n");
  EXPECT_EQ(LogText(kOther, 0), TaskPaths(TaskFolder(kOther)).replica_token() + "\n");
}

}  // namespace
}  // namespace glim::nodeagent
