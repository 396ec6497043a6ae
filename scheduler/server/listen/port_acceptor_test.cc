// Who may connect: so many from one peer and in all, and a process without descriptors goes on when it has some again.
#include "scheduler/server/listen/port_acceptor.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/server/listen/listener.h"
#include "scheduler/server/testing/identity_server.h"

namespace glim::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr TimePoint kStart{1'000'000};

class OpenConnectionsTest : public ::testing::Test {
 protected:
  using Socket = OpenConnections::Socket;

  void Make(std::size_t of_peer, std::size_t all) {
    OpenConnections::Kernel kernel;
    kernel.is_open = [this](Socket socket) { return ++looks_, !closed_.contains(socket.cookie); };
    kernel.bytes_out = [this](Socket socket) {
      return closed_.contains(socket.cookie) ? std::nullopt : std::optional(out_[socket.cookie]);
    };
    kernel.end = [this](Socket socket) { ended_.push_back(socket.cookie); };
    open_.emplace(ConnectionBounds{of_peer, all}, kernel);
  }
  // One who never shows who they are, and is no stranger.
  bool Take(const std::string& host, int fd, std::uint64_t cookie, TimePoint now = kStart) {
    return open_->Take(host, "", {fd, cookie}, now);
  }
  // A stranger; the descriptor's number is the port's.
  bool TakeStranger(const std::string& host, int port, TimePoint now = kStart) {
    return open_->Take(host, PeerOf(host, port), {port, Cookie(port)}, now);
  }
  static std::string PeerOf(const std::string& host, int port) { return host + ":" + std::to_string(port); }
  static std::uint64_t Cookie(int port) { return 1'000 + static_cast<std::uint64_t>(port); }

  std::optional<OpenConnections> open_;
  std::set<std::uint64_t> closed_;
  std::map<std::uint64_t, std::uint64_t> out_;
  std::vector<std::uint64_t> ended_;
  int looks_ = 0;
};

TEST_F(OpenConnectionsTest, APeerHasSoManyAndAnotherHasRoom) {
  Make(2, 10);
  EXPECT_TRUE(Take("a", 1, 101));
  EXPECT_TRUE(Take("a", 2, 102));
  EXPECT_FALSE(Take("a", 3, 103));
  EXPECT_TRUE(Take("b", 4, 104));
  closed_ = {101};
  EXPECT_TRUE(Take("a", 5, 105, kStart + Seconds(1))) << "one of them is gone";
  EXPECT_FALSE(Take("a", 6, 106, kStart + Seconds(2)));
}

TEST_F(OpenConnectionsTest, AllTogetherHaveSoMany) {
  Make(2, 3);
  EXPECT_TRUE(Take("a", 1, 101));
  EXPECT_TRUE(Take("b", 2, 102));
  EXPECT_TRUE(Take("c", 3, 103));
  EXPECT_FALSE(Take("d", 4, 104));
  const int looks = looks_;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(Take("d", 4, 104, kStart + Milliseconds(50)));
  EXPECT_EQ(looks_, looks) << "a full port is not looked through for each who comes";
  closed_ = {101};
  EXPECT_TRUE(Take("d", 4, 104, kStart + Seconds(1)));
}

// A descriptor that is given out again was closed: nobody needs to look.
TEST_F(OpenConnectionsTest, ADescriptorIsOneConnection) {
  Make(1, 10);
  EXPECT_TRUE(Take("a", 7, 101));
  EXPECT_TRUE(Take("b", 7, 102));
  EXPECT_TRUE(Take("a", 8, 103));
  EXPECT_EQ(open_->count(), 2U);
}

TEST_F(OpenConnectionsTest, WithoutCookiesNobodyIsBounded) {
  Make(1, 1);
  for (int fd = 1; fd < 5; ++fd) EXPECT_TRUE(Take("a", fd, 0));
}

TEST_F(OpenConnectionsTest, TheOldestStrangerMakesRoomAndWhoHasShownWhoTheyAreStays) {
  Make(3, 10);
  for (int port = 1; port <= 3; ++port) EXPECT_TRUE(TakeStranger("a", port));
  EXPECT_EQ(open_->Proven("a:1", "kim"), Cookie(1));
  for (int port = 4; port <= 20; ++port) EXPECT_TRUE(TakeStranger("a", port));
  EXPECT_EQ(open_->count(), 3U);
  EXPECT_THAT(ended_, SizeIs(17));
  EXPECT_THAT(ended_, Not(Contains(Cookie(1))));
  EXPECT_EQ(ended_.front(), Cookie(2)) << "the oldest first";
  open_->Proven("a:19", "lee");
  EXPECT_TRUE(TakeStranger("a", 21)) << "in place of 20";
  open_->Proven("a:21", "max");
  EXPECT_FALSE(TakeStranger("a", 22)) << "all are known";
  EXPECT_EQ(open_->Proven("a:22", "kim"), 0U) << "there is no such connection";
}

TEST_F(OpenConnectionsTest, WhoIsGoneMakesRoomBeforeAStrangerHasTo) {
  Make(2, 10);
  EXPECT_TRUE(TakeStranger("a", 1) && TakeStranger("a", 2));
  open_->Proven("a:2", "kim");
  closed_ = {Cookie(2)};
  EXPECT_TRUE(TakeStranger("a", 3));
  EXPECT_THAT(ended_, IsEmpty());
}

TEST_F(OpenConnectionsTest, OfAllWhoAreConnectedStrangersMakeRoom) {
  Make(5, 4);
  EXPECT_TRUE(TakeStranger("a", 1) && TakeStranger("b", 2) && TakeStranger("c", 3) && TakeStranger("d", 4));
  open_->Proven("a:1", "kim");
  EXPECT_TRUE(TakeStranger("e", 5));
  EXPECT_THAT(ended_, ElementsAre(Cookie(2)));
}

// So one user leaves others of the address room.
TEST_F(OpenConnectionsTest, OneUserHasHalfOfAnAddress) {
  Make(4, 10);
  for (int port = 1; port <= 3; ++port) {
    EXPECT_TRUE(TakeStranger("a", port));
    open_->Proven(PeerOf("a", port), "kim");
  }
  EXPECT_THAT(ended_, ElementsAre(Cookie(1))) << "the oldest";
  EXPECT_TRUE(TakeStranger("a", 4));
  closed_ = {Cookie(2)};
  open_->Proven("a:4", "kim");
  EXPECT_THAT(ended_, SizeIs(1)) << "one of the three is gone by itself";
  EXPECT_TRUE(TakeStranger("a", 5));
  open_->Proven("a:5", "lee");
  EXPECT_THAT(ended_, SizeIs(1)) << "another user";
}

// Their refusals are what they are sent.
TEST_F(OpenConnectionsTest, StrangersWhoGoOnBeingRefusedAreEnded) {
  Make(5, 10);
  EXPECT_FALSE(open_->EndGreedyStrangers(kStart)) << "nobody is looked for";
  EXPECT_TRUE(TakeStranger("a", 1) && TakeStranger("a", 2) && TakeStranger("a", 3));
  open_->Proven("a:3", "kim");
  out_ = {{Cookie(1), 4'000}, {Cookie(2), 20'000}, {Cookie(3), 20'000}};
  EXPECT_TRUE(open_->EndGreedyStrangers(kStart));
  EXPECT_THAT(ended_, ElementsAre(Cookie(2)));
  out_[Cookie(1)] = 20'000;
  EXPECT_TRUE(open_->EndGreedyStrangers(kStart + Seconds(10)));
  EXPECT_THAT(ended_, SizeIs(1)) << "who asks now and then may go on";
  open_->End(Cookie(3));
  EXPECT_THAT(ended_, ElementsAre(Cookie(2), Cookie(3)));
  closed_ = {Cookie(1), Cookie(2)};
  EXPECT_TRUE(open_->EndGreedyStrangers(kStart + Seconds(11)));
  EXPECT_FALSE(open_->EndGreedyStrangers(kStart + Seconds(12)));
  EXPECT_EQ(open_->count(), 1U) << "who is gone by itself is forgotten";
}

TEST_F(OpenConnectionsTest, StrangersWhoBeginMoreCallsThanStrangersDoAreEnded) {
  Make(5, 10);
  EXPECT_TRUE(TakeStranger("a", 1) && TakeStranger("a", 2) && TakeStranger("a", 3));
  EXPECT_THAT(open_->Strangers(), ElementsAre("a:1", "a:2", "a:3"));
  open_->Proven("a:3", "kim");
  const std::map<std::string, std::uint64_t> begun = {{"a:1", 200}, {"a:2", 400}, {"a:3", 900}, {"a:9", 900}};
  EXPECT_EQ(open_->EndStrangersWhoBegan(begun, kStart + Seconds(60)), 0U) << "a long time";
  EXPECT_EQ(open_->EndStrangersWhoBegan(begun, kStart), 1U);
  EXPECT_THAT(ended_, ElementsAre(Cookie(2)));
}

// The rest waits: each has a turn, and so many at a time can begin something.
TEST_F(OpenConnectionsTest, SoManyStrangersHaveTheirFirstMomentsAtATime) {
  Make(100, 100);
  for (int port = 1; port <= 8; ++port) {
    EXPECT_TRUE(open_->HasTurn(kStart)) << port;
    EXPECT_TRUE(TakeStranger("a", port));
  }
  EXPECT_FALSE(open_->HasTurn(kStart + Milliseconds(5)));
  open_->Proven("a:7", "kim");
  EXPECT_TRUE(open_->HasTurn(kStart + Milliseconds(5))) << "one has shown who they are";
  EXPECT_TRUE(TakeStranger("a", 17, kStart + Milliseconds(5)));
  EXPECT_FALSE(open_->HasTurn(kStart + Milliseconds(5)));
  EXPECT_TRUE(open_->HasTurn(kStart + Milliseconds(10))) << "whoever they are";

  EXPECT_EQ(open_->EndStrangersWhoBegan({{"a:1", 900}}, kStart + Milliseconds(10)), 1U);
  EXPECT_FALSE(open_->HasTurn(kStart + Milliseconds(900))) << "while strangers flood they have longer";
  EXPECT_TRUE(open_->HasTurn(kStart + Milliseconds(1'100)));
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
    open_.emplace(bounds, OpenConnections::RealKernel());
    listening.connections = &*open_;
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
  std::optional<OpenConnections> open_;
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
