// Who may connect: so many from one peer and in all, and a process without descriptors goes on when it has some again.
#include "scheduler/server/listen/port_acceptor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>
#include <utility>
#include <vector>

#include "scheduler/server/listen/listener.h"
#include "scheduler/server/testing/identity_server.h"

namespace glim::server {
namespace {

constexpr TimePoint kStart{1'000'000};

class OpenConnectionsTest : public ::testing::Test {
 protected:
  OpenConnections Make(std::size_t of_peer, std::size_t all) {
    return OpenConnections({of_peer, all}, [this](int fd, std::uint64_t cookie) {
      ++looks_;
      return !closed_.contains({fd, cookie});
    });
  }
  std::set<std::pair<int, std::uint64_t>> closed_;
  int looks_ = 0;
};

TEST_F(OpenConnectionsTest, APeerHasSoManyAndAnotherHasRoom) {
  OpenConnections open = Make(2, 10);
  EXPECT_TRUE(open.Take("a", 1, 101, kStart));
  EXPECT_TRUE(open.Take("a", 2, 102, kStart));
  EXPECT_FALSE(open.Take("a", 3, 103, kStart));
  EXPECT_TRUE(open.Take("b", 4, 104, kStart));
  closed_ = {{1, 101}};
  EXPECT_TRUE(open.Take("a", 5, 105, kStart)) << "one of them is gone";
  EXPECT_FALSE(open.Take("a", 6, 106, kStart));
}

TEST_F(OpenConnectionsTest, AllTogetherHaveSoMany) {
  OpenConnections open = Make(2, 3);
  EXPECT_TRUE(open.Take("a", 1, 101, kStart));
  EXPECT_TRUE(open.Take("b", 2, 102, kStart));
  EXPECT_TRUE(open.Take("c", 3, 103, kStart));
  EXPECT_FALSE(open.Take("d", 4, 104, kStart));
  const int looks = looks_;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(open.Take("d", 4, 104, kStart + Milliseconds(50)));
  EXPECT_EQ(looks_, looks) << "a full port is not looked through for each who comes";
  closed_ = {{1, 101}};
  EXPECT_TRUE(open.Take("d", 4, 104, kStart + Seconds(1)));
}

// A descriptor that is given out again was closed: nobody needs to look.
TEST_F(OpenConnectionsTest, ADescriptorIsOneConnection) {
  OpenConnections open = Make(1, 10);
  EXPECT_TRUE(open.Take("a", 7, 101, kStart));
  EXPECT_TRUE(open.Take("b", 7, 102, kStart));
  EXPECT_TRUE(open.Take("a", 8, 103, kStart));
  EXPECT_EQ(open.count(), 2U);
}

TEST_F(OpenConnectionsTest, WithoutCookiesNobodyIsBounded) {
  OpenConnections open = Make(1, 1);
  for (int fd = 1; fd < 5; ++fd) EXPECT_TRUE(open.Take("a", fd, 0, kStart));
}

TEST_F(OpenConnectionsTest, UsersAndAgentsLeaveEachOtherRoom) {
  for (const std::size_t descriptors : {std::size_t{1'024}, std::size_t{20'000}, std::size_t{65'536}}) {
    const ConnectionBounds users = UsersConnections(descriptors), agents = AgentsConnections(descriptors);
    EXPECT_LT(users.all + agents.all, descriptors);
    EXPECT_LT(users.of_peer, users.all) << "one host does not take all";
    EXPECT_GE(agents.all, descriptors / 2);
  }
}

class PortAcceptorTest : public ::testing::Test {
 protected:
  void Listen(ConnectionBounds bounds) {
    Listening listening;
    listening.address = "127.0.0.1:0";
    listening.credentials = grpc::InsecureServerCredentials();
    listening.services = {&service_};
    listening.connections = bounds;
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
  static bool IsServed(const UniqueFd& socket, int wait_ms = 20'000) {
    pollfd ready{socket.get(), POLLIN, 0};
    char byte = 0;
    return ::poll(&ready, 1, wait_ms) == 1 && ::recv(socket.get(), &byte, 1, MSG_PEEK) == 1;
  }
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

TEST_F(PortAcceptorTest, ListensWhereItIsTold) {
  for (const char* address : {"127.0.0.1:0", "localhost:0", "0.0.0.0:0", "*:0"}) {
    const auto bound = PortAcceptor::Bind(address, {});
    ASSERT_TRUE(bound.ok()) << address << ": " << bound.status().message();
    EXPECT_GT((*bound)->port(), 0) << address;
  }
  const std::string path = ::testing::TempDir() + "glim-port-" + std::to_string(::getpid());
  {
    const auto bound = PortAcceptor::Bind("unix:" + path, {});
    ASSERT_TRUE(bound.ok()) << bound.status().message();
    EXPECT_EQ(::access(path.c_str(), F_OK), 0);
    EXPECT_TRUE(PortAcceptor::Bind("unix:" + path, {}).ok()) << "in place of one that was killed";
  }
  EXPECT_NE(::access(path.c_str(), F_OK), 0) << "it goes with its port";
  for (const char* address :
       {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "unix:", "no.such.host.:1"}) {
    EXPECT_FALSE(PortAcceptor::Bind(address, {}).ok()) << address;
  }
}

TEST_F(PortAcceptorTest, APortThatAnotherHasIsRefused) {
  Listen({});
  Listening again;
  again.field = "listen_agents";
  again.address = "127.0.0.1:" + std::to_string(port_->port());
  again.credentials = grpc::InsecureServerCredentials();
  again.services = {&service_};
  const auto refused = server::Listen(again);
  EXPECT_EQ(refused.status().reason(), "BIND_FAILED");
  EXPECT_EQ(refused.status().field(), "listen_agents");
  EXPECT_THAT(refused.status().fix(), ::testing::HasSubstr("--listen-agents"));
}

}  // namespace
}  // namespace glim::server
