// Whom a service lets in, how many, and what it and its processes may do.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "sdk/base/rng.h"
#include "sdk/base/testing/waits.h"
#include "sdk/checkpoint/replica/control_message.h"
#include "sdk/checkpoint/replica/testing/replica.h"
#include "sdk/net/socket.h"

namespace glim::checkpoint {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the helpers of this folder
using ::testing::HasSubstr;

constexpr std::uint64_t kGuestRows = 3 * kMiB + 77;

// A raw client of the control port.
class Stranger {
 public:
  explicit Stranger(const std::string& address, const std::string& from = "127.0.0.1")
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    const net::SocketAddress to = net::ParseAddress(ParsePeer(address)->address).value();
    sockaddr_in own{};
    own.sin_family = AF_INET;
    EXPECT_EQ(::inet_pton(AF_INET, from.c_str(), &own.sin_addr), 1);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own), 0);
    EXPECT_TRUE(::connect(socket_.get(), to.raw(), to.length) == 0 || errno == EINPROGRESS);
    Await(POLLOUT);
  }
  void Send(const std::string& bytes) { (void)::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  // Reads until the service ends the connection. False: it does not.
  bool Ended() {
    char some[4096];
    for (;;) {
      if (!Await(POLLIN)) return false;
      const ssize_t n = ::recv(socket_.get(), some, sizeof some, 0);
      if (n <= 0) return true;
      read_.append(some, static_cast<std::size_t>(n));
    }
  }
  bool IsThere() const {
    char byte = 0;
    return ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && net::WouldBlock(errno);
  }
  std::string ReadAll() {
    EXPECT_TRUE(Ended());
    return read_;
  }

 private:
  bool Await(short events) {  // NOLINT(google-runtime-int): poll's type
    pollfd waiting{socket_.get(), events, 0};
    return ::poll(&waiting, 1, LongWaitMs()) > 0;
  }
  UniqueFd socket_;
  std::string read_;
};

TEST(ServiceTest, GarbageEndsItsOwnConnectionAndNoOther) {
  ReplicaServiceOptions options;
  options.ucx_tls = "tcp";
  options.memory_bytes = 32 * kMiB;
  const ThreadService service(options);
  const auto writer = MakeReplicaWriter(service.address(), OptionsFor("tcp", 1, 0, 1)).value();
  ASSERT_TRUE(Send(*writer, MakeShare({1, 1}, 0, 1, kGuestRows)).ok());
  const std::string frames[] = {Encode(Hello{kReplicaProtocol, "17", 1, {}}),
                                Encode(Answer{"certificate", {}, "worker"}),
                                Encode(Drop{}),
                                Encode(Reserve{{1, 1, 0}, {1, 1, 1}}),
                                Encode(Hello{99, "17", 1, {}}),
                                Encode(Hello{kReplicaProtocol, "", 1, {}}),
                                Encode(Hello{kReplicaProtocol, std::string(300, 'j'), 1, {}})};
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    std::string bytes = seed % 3 == 0 ? "" : frames[rng.Next() % std::size(frames)];
    if (seed % 3 == 1) bytes += frames[rng.Next() % std::size(frames)];
    if (seed % 3 != 1 && !bytes.empty()) bytes[rng.Next() % bytes.size()] ^= static_cast<char>(1 + rng.Next() % 255);
    // Enough to be no beginning of a frame that is still to come.
    for (int i = 0; i < 70'000; ++i) bytes.push_back(static_cast<char>(rng.Next()));
    Stranger stranger(service.address());
    stranger.Send(bytes);
    EXPECT_TRUE(stranger.Ended());
  }
  EXPECT_TRUE(Send(*writer, MakeShare({1, 2}, 0, 1, kGuestRows)).ok());
}

ReplicaServiceOptions TcpOptions() {
  ReplicaServiceOptions options;
  options.ucx_tls = "tcp";
  options.memory_bytes = 32 * kMiB;
  return options;
}

Status SendAs(const ThreadService& service, std::uint64_t job, const std::string& user) {
  ReplicaOptions options = OptionsFor("tcp", 1, 0, 1);
  options.token = TokenFor(1, job, user);
  return Send(*MakeReplicaWriter(service.address(), options).value(), MakeShare({1, 1}, 0, 1, 1000)).status();
}

TEST(ServiceTest, OverTcpItIsOneUsersAtATimeUnlessUsersTrustEachOther) {
  std::atomic<bool> private_fabric = false;
  ReplicaServiceOptions options = TcpOptions();
  options.issuers = [&private_fabric] { return Issuers(private_fabric); };
  const ThreadService service(options);
  ASSERT_TRUE(SendAs(service, 17, "kim").ok());
  EXPECT_TRUE(SendAs(service, 18, "kim").ok()) << "another job of the same user's";
  const Status refused = SendAs(service, 19, "ana");
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.reason(), "FABRIC_SHARED");
  EXPECT_THAT(refused.message(), HasSubstr("over 'tcp' this service serves the jobs of one user at a time"));
  EXPECT_THAT(refused.fix(), HasSubstr("fabric_private: true"));
  for (const std::uint64_t job : {17, 18}) {
    ReplicaOptions owner = OptionsFor("tcp", 1, 0, 1);
    owner.token = TokenFor(1, job, "kim");
    ASSERT_TRUE(DropReplicas(service.address(), owner).ok());
  }
  // The last connection's end is heard in the service's own time.
  Status free = refused;
  for (int i = 0; i < 1000 && free.reason() == "FABRIC_SHARED"; ++i) free = SendAs(service, 19, "ana");
  EXPECT_TRUE(free.ok()) << free.message();
  EXPECT_EQ(SendAs(service, 17, "kim").reason(), "FABRIC_SHARED");
  private_fabric = true;
  EXPECT_TRUE(SendAs(service, 17, "kim").ok());
}

TEST(ServiceTest, AJobHasItsOwnBoundOfConnectionsBeforeAllHaveTheirs) {
  ReplicaServiceOptions options = TcpOptions();
  options.job_connections_max = 2;
  options.connections_max = 3;
  const ThreadService service(options);
  const auto open = [&](std::uint64_t job) {
    ReplicaOptions reader = OptionsFor("tcp", 0, 0, 1);
    reader.token = TokenFor(kLateAttempt, job);
    return OpenReplicaSource({service.address()}, reader);
  };
  const auto first = open(17), second = open(17);
  ASSERT_TRUE(first.ok() && second.ok());
  const Status third = open(17).status();
  EXPECT_EQ(third.reason(), "REPLICA_CONNECTIONS");
  EXPECT_THAT(third.message(), HasSubstr("there are 2 connections of job 17 already"));
  const auto other = open(18);
  ASSERT_TRUE(other.ok()) << "another job is not in its way";
  EXPECT_THAT(open(18).status().message(), HasSubstr("there are 3 connections already"));
}

TEST(ServiceTest, TheOldestStrangerMakesRoomAndIsToldSo) {
  ReplicaServiceOptions options = TcpOptions();
  options.strangers_max = 2;
  const ThreadService service(options);
  const auto writer = MakeReplicaWriter(service.address(), OptionsFor("tcp", 1, 0, 1)).value();
  ASSERT_TRUE(Send(*writer, MakeShare({1, 1}, 0, 1, 1000)).ok());
  Stranger one(service.address()), two(service.address());
  const Status sent = SendAs(service, 18, "kim");
  EXPECT_TRUE(sent.ok()) << sent.message();
  std::string said = one.ReadAll();
  ControlMessage message;
  ASSERT_TRUE(TakeFrame(said, message).value());
  const Status refused = StatusOf(std::get<Refused>(message));
  EXPECT_EQ(refused.reason(), "REPLICA_CONNECTIONS");
  EXPECT_THAT(refused.message(), HasSubstr("2 connections that have shown no token yet"));
  EXPECT_TRUE(Send(*writer, MakeShare({1, 2}, 0, 1, 1000)).ok()) << "who is in stays in";
}

TEST(ServiceTest, AnAddressHasItsOwnBoundOfStrangersBeforeAllHaveTheirs) {
  ReplicaServiceOptions options = TcpOptions();
  options.address_strangers_max = 2;
  const ThreadService service(options);
  const auto writer = MakeReplicaWriter(service.address(), OptionsFor("tcp", 1, 0, 1)).value();
  ASSERT_TRUE(Send(*writer, MakeShare({1, 1}, 0, 1, 1000)).ok());
  const std::string other = "127.0.0.2";
  Stranger elsewhere(service.address(), other), one(service.address()), two(service.address());
  Stranger three(service.address());
  EXPECT_TRUE(one.Ended()) << "the oldest of its address, and not of all";
  EXPECT_TRUE(elsewhere.IsThere());
  EXPECT_TRUE(two.IsThere());
  EXPECT_TRUE(Send(*writer, MakeShare({1, 2}, 0, 1, 1000)).ok()) << "who is in stays in";
}

TEST(ServiceTest, AnOldClientIsRefusedInWordsThatItCanRead) {
  const ThreadService service(TcpOptions());
  Stranger old(service.address());
  old.Send(Encode(Hello{1, "17", 1, {}}));
  std::string said = old.ReadAll();
  ControlMessage message;
  ASSERT_TRUE(TakeFrame(said, message).value());
  const Status refused = StatusOf(std::get<Refused>(message));
  EXPECT_EQ(refused.reason(), "PROTOCOL_VERSION");
  EXPECT_EQ(refused.fix(), "upgrade the SDK on the task's node");
}

std::string LineOf(pid_t pid, const std::string& name) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":\t")) return line.substr(name.size() + 2);
  }
  return "";
}

// What is denied there is in confinement_test.cc.
TEST(ServiceTest, ItAndItsTransferProcessesAreConfined) {
  for (const char* tls : {"tcp", "all"}) {
    const ProcessService service(tls, "32MiB");
    const auto source = OpenReplicaSource({service.address()}, OptionsFor("tcp", 1, 0, 1));
    ASSERT_TRUE(source.ok()) << source.status().message();
    std::vector<pid_t> processes = {service.pid()};
    // Whichever of its threads has started it.
    for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(service.pid()) + "/task")) {
      std::ifstream children(thread.path() / "children");
      for (pid_t child = 0; children >> child;) processes.push_back(child);
    }
    EXPECT_EQ(processes.size(), 2U);
    for (const pid_t pid : processes) {
      EXPECT_EQ(LineOf(pid, "Seccomp"), "2") << pid;
      EXPECT_EQ(LineOf(pid, "NoNewPrivs"), "1");
      for (const char* set : {"CapEff", "CapPrm", "CapInh", "CapAmb"})
        EXPECT_EQ(LineOf(pid, set), std::string(16, '0'));
    }
    EXPECT_EQ(LineOf(processes[0], "Seccomp_filters"), "1");
    EXPECT_EQ(LineOf(processes.back(), "Seccomp_filters"), "3") << "the service's, its own, and UCX's";
  }
}

TEST(ServiceTest, WhoShowsNoTokenInTimeIsSentAway) {
  ReplicaServiceOptions options;
  options.ucx_tls = "tcp";
  options.memory_bytes = 32 * kMiB;
  options.handshake = Milliseconds(1);
  const ThreadService service(options);
  Stranger quiet(service.address());
  EXPECT_TRUE(quiet.Ended());
}

// Opening a card takes long on a loaded node: here more than twice the time to show a token.
TEST(ServiceTest, WhoHasShownTheTokenIsNotSentAwayWhileItsTransferProcessStarts) {
  const std::string program = ::testing::TempDir() + "slow-transfer-" + std::to_string(::getpid());
  const double seconds = 2.5 * static_cast<double>(Slower(Seconds(1)).ms) / 1000;
  std::ofstream(program) << "#!/bin/sh\nsleep " << seconds << "\nexec " << ReplicaProgram() << " \"$@\"\n";
  ASSERT_EQ(::chmod(program.c_str(), 0755), 0);
  ReplicaServiceOptions options;
  options.ucx_tls = "tcp";
  options.memory_bytes = 32 * kMiB;
  options.handshake = Slower(Seconds(1));
  options.program = program;
  const ThreadService service(options);
  const auto writer = MakeReplicaWriter(service.address(), OptionsFor("tcp", 1, 0, 1)).value();
  const auto sent = Send(*writer, MakeShare({1, 1}, 0, 1, kGuestRows));
  EXPECT_TRUE(sent.ok()) << sent.status().message();
  ::unlink(program.c_str());
}

}  // namespace
}  // namespace glim::checkpoint
