// What the kernel counts of a connection that somebody else reads, and how it is ended.
#include "sdk/net/tcp_counts.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <string>

#include "sdk/base/testing/waits.h"
#include "sdk/net/address.h"
#include "sdk/net/socket.h"

namespace glim::net {
namespace {

struct TcpCountsTest : ::testing::Test {
  void SetUp() override {
    SocketAddress any = ParseAddress("127.0.0.1:1").value();  // what is parsed has a port
    reinterpret_cast<sockaddr_in*>(&any.storage)->sin_port = 0;
    const UniqueFd listening = Listen(any).value();
    const SocketAddress to = LocalAddress(listening.get()).value();
    there_.Reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(there_.get(), to.raw(), to.length), 0);
    ASSERT_TRUE(AwaitReady(listening.get(), POLLIN, Deadline(LongWaitDuration())));
    here_.Reset(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ASSERT_TRUE(here_);
  }
  UniqueFd here_, there_;
};

TEST_F(TcpCountsTest, WhatCameCountsAlsoUnreadAndWhatIsToGoAlsoUntaken) {
  const std::string ten(10, 'x'), many(1 << 20, 'x');
  ASSERT_EQ(::send(there_.get(), ten.data(), ten.size(), 0), 10);
  EXPECT_TRUE(Eventually([&] { return CountsOf(here_.get())->received == 10; }));
  const ssize_t given = ::send(here_.get(), many.data(), many.size(), MSG_DONTWAIT);
  ASSERT_GT(given, 0);
  EXPECT_EQ(CountsOf(here_.get())->given, static_cast<std::uint64_t>(given));
}

TEST_F(TcpCountsTest, NothingIsCountedOfWhatIsNoConnection) {
  EXPECT_FALSE(CountsOf(-1));
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const UniqueFd one(pair[0]), two(pair[1]);
  EXPECT_FALSE(CountsOf(one.get()));
}

TEST_F(TcpCountsTest, WhoIsDisconnectedHasNothingMoreToRead) {
  ASSERT_EQ(::send(there_.get(), "x", 1, 0), 1);
  ASSERT_TRUE(AwaitReady(here_.get(), POLLIN, Deadline(LongWaitDuration())));
  Disconnect(here_.get());
  char byte = 0;
  EXPECT_LE(::recv(here_.get(), &byte, 1, MSG_DONTWAIT), 0);
  pollfd ended{there_.get(), 0, 0};
  EXPECT_EQ(::poll(&ended, 1, LongWaitMs()), 1) << "the other side hears of it";
}

}  // namespace
}  // namespace glim::net
