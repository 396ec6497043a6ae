// Who is let in at a port: so many from one peer and in all, by turns. Without descriptors it pauses, and then goes on.
#include "scheduler/server/listen/port_acceptor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/server/listen/listener.h"
#include "scheduler/server/testing/identity_server.h"
#include "sdk/base/testing/waits.h"
#include "sdk/log/log.h"

namespace glim::server {
namespace {

class PortAcceptorTest : public ::testing::Test {
 protected:
  enum class Callers : std::uint8_t { kAll, kStrangers };
  void Listen(ConnectionBounds bounds, Callers callers = Callers::kAll) {
    Listening listening;
    listening.address = "127.0.0.1:0";
    listening.credentials = grpc::InsecureServerCredentials();
    listening.services = {&service_};
    open_.emplace(bounds, OpenConnections::RealKernel());
    listening.connections = &*open_;
    calls_.emplace(&*open_, BegunCalls::Rules());
    if (callers == Callers::kStrangers) listening.calls = &*calls_;
    auto port = server::Listen(listening);
    ASSERT_TRUE(port.ok()) << port.status().message();
    port_ = std::move(port).value();
  }
  static UniqueFd Socket() { return UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }
  // 127.0.0.0/8 is all this machine.
  bool Connect(const UniqueFd& socket, const char* from = "127.0.0.1") const {
    sockaddr_in own{}, to{};
    own.sin_family = to.sin_family = AF_INET;
    ::inet_pton(AF_INET, from, &own.sin_addr);
    ::inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    to.sin_port = htons(static_cast<std::uint16_t>(port_->port()));
    return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) == 0 &&
           ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  // A server of HTTP/2 speaks first; one who is hung up on hears nothing.
  static bool IsServed(const UniqueFd& socket, int wait_ms = LongWaitMs()) {
    pollfd ready{socket.get(), POLLIN, 0};
    char byte = 0;
    return ::poll(&ready, 1, wait_ms) == 1 && ::recv(socket.get(), &byte, 1, MSG_PEEK) == 1;
  }
  std::optional<OpenConnections> open_;
  std::optional<BegunCalls> calls_;
  v1::EnrolApi::CallbackService service_;  // gRPC starts no server without one
  std::unique_ptr<Port> port_;
};

TEST_F(PortAcceptorTest, WhoHasManyConnectionsGetsNoMoreAndAnotherDoes) {
  Listen({3, 8});
  std::vector<UniqueFd> flood(4);
  for (UniqueFd& one : flood) {
    one = Socket();
    ASSERT_TRUE(Connect(one));
  }
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(IsServed(flood[static_cast<std::size_t>(i)]));
  EXPECT_FALSE(IsServed(flood[3])) << "it was hung up on";
  const UniqueFd other = Socket();
  ASSERT_TRUE(Connect(other, "127.0.0.2"));
  EXPECT_TRUE(IsServed(other));
  flood.clear();
  bool served = false;
  for (int i = 0; i < 1'000 && !served; ++i) {  // the server closes its side when it has seen that the other is gone
    const UniqueFd again = Socket();
    served = Connect(again) && IsServed(again);
  }
  EXPECT_TRUE(served) << "what was closed is given back";
}

// gRPC's own listener ended for good here.
TEST_F(PortAcceptorTest, WithoutDescriptorsItPausesAndThenGoesOn) {
  Listen({100, 100});
  const UniqueFd first = Socket(), second = Socket();
  ASSERT_TRUE(Connect(first) && IsServed(first));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  // UBSan's check of a type needs two descriptors when it sees the type for the first time: those of a line of the log.
  LogWarning("no descriptors are left from here on");
  const rlimit few{std::min<rlim_t>(before.rlim_cur, 1'000), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<UniqueFd> filled;
  for (int fd = 0; (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;) filled.emplace_back(fd);
  EXPECT_EQ(errno, EMFILE);
  EXPECT_TRUE(Connect(second)) << "the kernel has taken it in";
  EXPECT_FALSE(IsServed(second, 300));
  filled.clear();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(IsServed(second));
}

// While strangers flood there are eight turns a second: those of an address that connects without end are its own.
TEST_F(PortAcceptorTest, AnAddressThatConnectsWithoutEndKeepsNoOtherFromItsTurn) {
  Listen({1'000, 1'000}, Callers::kStrangers);
  const TimePoint now = SteadyNow();
  ASSERT_TRUE(open_->Take("c", "c:9", {-9, 9}, now));
  ASSERT_EQ(open_->EndStrangersWhoBegan({{"c:9", 900}}, now + Minutes(1)), 1U) << "it lasts as long";
  std::vector<UniqueFd> flood(60);
  for (UniqueFd& one : flood) {
    one = Socket();
    ASSERT_TRUE(Connect(one));
  }
  const UniqueFd other = Socket();
  ASSERT_TRUE(Connect(other, "127.0.0.2"));
  EXPECT_TRUE(IsServed(other));
  const auto served = std::count_if(flood.begin(), flood.end(), [](const UniqueFd& one) { return IsServed(one, 0); });
  EXPECT_LT(served, 60) << "of those who came before some are served after";
}

TEST_F(PortAcceptorTest, ListensWhereItIsTold) {
  OpenConnections open({}, OpenConnections::RealKernel());
  for (const char* address : {"127.0.0.1:0", "localhost:0", "0.0.0.0:0", "*:0"}) {
    const auto bound = PortAcceptor::Bind(address, &open, true);
    ASSERT_TRUE(bound.ok()) << address << ": " << bound.status().message();
    EXPECT_GT((*bound)->port(), 0) << address;
  }
  const std::string path = ::testing::TempDir() + "glim-port-" + std::to_string(::getpid());
  {
    const auto bound = PortAcceptor::Bind("unix:" + path, &open, true);
    ASSERT_TRUE(bound.ok()) << bound.status().message();
    EXPECT_EQ(::access(path.c_str(), F_OK), 0);
    EXPECT_TRUE(PortAcceptor::Bind("unix:" + path, &open, true).ok()) << "in place of one that was killed";
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0) << "it goes with its port";
  for (const char* address :
       {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "unix:", "no.such.host.:1"}) {
    EXPECT_FALSE(PortAcceptor::Bind(address, &open, true).ok()) << address;
  }
}

TEST_F(PortAcceptorTest, APortThatAnotherHasIsRefused) {
  Listen({});
  Listening again;
  again.field = "listen_agents";
  again.address = "127.0.0.1:" + std::to_string(port_->port());
  again.credentials = grpc::InsecureServerCredentials();
  again.services = {&service_};
  again.connections = &*open_;
  const auto refused = server::Listen(again);
  EXPECT_EQ(refused.status().reason(), "BIND_FAILED");
  EXPECT_EQ(refused.status().field(), "listen_agents");
  EXPECT_THAT(refused.status().fix(), ::testing::HasSubstr("--listen-agents"));
}

}  // namespace
}  // namespace glim::server
