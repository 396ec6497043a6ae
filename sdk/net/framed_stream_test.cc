#include "sdk/net/framed_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <utility>

#include "sdk/base/check.h"
#include "sdk/base/testing/waits.h"
#include "sdk/net/backoff.h"
#include "sdk/net/socket.h"

namespace glim::net {
namespace {

using ::testing::HasSubstr;

std::pair<UniqueFd, UniqueFd> SocketPair() {
  int ends[2];
  GLIM_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

TEST(FramedStream, GivesWhatHasComeAndNeverReadsPastItsBound) {
  auto [ours, theirs] = SocketPair();
  FramedStream stream(std::move(ours), {.input = 5, .output = 100});
  ASSERT_TRUE(stream.Read().ok()) << "nothing has come";
  EXPECT_EQ(stream.input(), "");
  ASSERT_EQ(::send(theirs.get(), "hello, the rest", 15, 0), 15);
  ASSERT_TRUE(stream.Read().ok());
  EXPECT_EQ(stream.input(), "hello");
  const UniqueFd released = stream.Release();
  EXPECT_FALSE(stream);
  char rest[32];
  EXPECT_EQ(::recv(released.get(), rest, sizeof rest, 0), 10) << "what follows is the next reader's";
}

TEST(FramedStream, WhatCameBeforeTheEndIsThere) {
  auto [ours, theirs] = SocketPair();
  FramedStream stream(std::move(ours), {.input = 100, .output = 100});
  ASSERT_EQ(::send(theirs.get(), "last", 4, 0), 4);
  theirs.Reset();
  const Status ended = stream.Read();
  EXPECT_EQ(ended.code(), StatusCode::kUnavailable);
  EXPECT_THAT(ended.message(), HasSubstr("ended the connection"));
  EXPECT_EQ(stream.input(), "last");
}

TEST(FramedStream, APeerThatDoesNotReadFillsTheQueueAndNoMore) {
  auto [ours, theirs] = SocketPair();
  FramedStream stream(std::move(ours), {.input = 1, .output = 1 << 20});
  const std::string piece(1 << 19, 'x');
  Status status;
  int sent = 0;
  for (; sent < 1000 && status.ok(); ++sent) status = stream.Send(piece);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_TRUE(stream.wants_to_write());
  EXPECT_LT(sent, 1000);
}

TEST(FramedStream, FlushesTheRestWhenThePeerReads) {
  auto [ours, theirs] = SocketPair();
  FramedStream stream(std::move(ours), {.input = 1, .output = 8 << 20});
  const std::string whole(4 << 20, 'y');
  ASSERT_TRUE(stream.Send(whole).ok());
  std::string got;
  const Deadline deadline(LongWaitDuration());
  while (got.size() < whole.size() && !deadline.Passed()) {
    char some[65536];
    const ssize_t n = ::recv(theirs.get(), some, sizeof some, 0);
    if (n > 0) got.append(some, static_cast<std::size_t>(n));
    ASSERT_TRUE(stream.Flush().ok());
  }
  EXPECT_EQ(got, whole);
  EXPECT_FALSE(stream.wants_to_write());
}

TEST(Addresses, AreReadBackFromTheirText) {
  for (const char* text : {"127.0.0.1:4000", "[::1]:4000"}) {
    const Result<SocketAddress> address = ParseAddress(text);
    ASSERT_TRUE(address.ok()) << address.status().message();
    EXPECT_EQ(address->ToString(), text);
    EXPECT_EQ(address->port(), 4000);
    EXPECT_FALSE(address->IsAny());
  }
  for (const char* text : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:70000", "127.0.0.1:4x"}) {
    const Result<SocketAddress> address = ParseAddress(text);
    EXPECT_EQ(address.status().code(), StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(address.status().message(), HasSubstr("host:port")) << text;
  }
  EXPECT_TRUE(ResolveAddress("0.0.0.0", 1)->IsAny());
  EXPECT_TRUE(ResolveAddress("::", 1)->IsAny());
}

TEST(Addresses, TheWayToThisMachineStartsAtThisMachine) {
  const Result<SocketAddress> own = OwnAddressTowards(*ParseAddress("127.0.0.1:4000"));
  ASSERT_TRUE(own.ok()) << own.status().message();
  EXPECT_EQ(own->ToString(), "127.0.0.1:0");
  EXPECT_EQ(own->Host(), "127.0.0.1");
}

TEST(Sockets, AwaitReadyEndsAtTheDeadlineOrWhenThereIsSomething) {
  auto [ours, theirs] = SocketPair();
  EXPECT_FALSE(AwaitReady(ours.get(), POLLIN, Deadline(Milliseconds(5))));
  ASSERT_EQ(::send(theirs.get(), "x", 1, 0), 1);
  EXPECT_TRUE(AwaitReady(ours.get(), POLLIN, Deadline(LongWaitDuration())));
}

TEST(Backoffs, DoubleUpToTheirLimit) {
  Backoff backoff(Milliseconds(5), Milliseconds(12));
  EXPECT_EQ(backoff.Next(), Milliseconds(5));
  EXPECT_EQ(backoff.Next(), Milliseconds(10));
  EXPECT_EQ(backoff.Next(), Milliseconds(12));
  EXPECT_EQ(backoff.Next(), Milliseconds(12));
}

}  // namespace
}  // namespace glim::net
