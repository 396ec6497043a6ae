// The store that ranks find each other through: the same rules for MemoryStore and TcpStore, and what only a network
// can do to the second.
#include "sdk/hfreduce/rendezvous/tcp_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "sdk/base/testing/waits.h"
#include "sdk/hfreduce/rendezvous/store_message.h"
#include "sdk/hfreduce/rendezvous/testing/memory_store.h"
#include "sdk/net/socket.h"

namespace glim::hfreduce {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<TcpStore> Serve() {
  Result<std::unique_ptr<TcpStore>> store = TcpStore::Create({.host = "127.0.0.1", .port = 0, .serve = true});
  GLIM_CHECK(store.ok(), store.status().message());
  return std::move(store).value();
}

std::unique_ptr<TcpStore> Join(std::uint16_t port, Duration timeout = LongWaitDuration()) {
  Result<std::unique_ptr<TcpStore>> store =
      TcpStore::Create({.host = "127.0.0.1", .port = port, .serve = false, .timeout = timeout});
  GLIM_CHECK(store.ok(), store.status().message());
  return std::move(store).value();
}

// A port that was free a moment ago.
std::uint16_t FreePort() { return Serve()->port(); }

struct Kind {
  const char* name;
  std::function<std::unique_ptr<Store>()> make;
};

class StoreContract : public ::testing::TestWithParam<Kind> {};

TEST_P(StoreContract, GivesBackWhatWasWritten) {
  const auto store = GetParam().make();
  const std::string binary("\0\xff\n value", 9);
  ASSERT_TRUE(store->Set("key", binary).ok());
  EXPECT_EQ(store->Get("key", LongWaitDuration()).value(), binary);
  ASSERT_TRUE(store->Set("empty", "").ok());
  EXPECT_EQ(store->Get("empty", LongWaitDuration()).value(), "");
}

TEST_P(StoreContract, GetWaitsForTheKey) {
  const auto store = GetParam().make();
  std::thread reader([&] { EXPECT_EQ(store->Get("late", LongWaitDuration()).value(), "here"); });
  EXPECT_TRUE(store->Set("late", "here").ok());
  reader.join();
}

TEST_P(StoreContract, SaysWhichKeyNobodyWrote) {
  const auto store = GetParam().make();
  const Result<std::string> got = store->Get("node/7", Milliseconds(30));
  EXPECT_EQ(got.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(got.status().message(), HasSubstr("node/7"));
}

TEST_P(StoreContract, AKeyIsWrittenOnce) {
  const auto store = GetParam().make();
  ASSERT_TRUE(store->Set("rank", "a").ok());
  EXPECT_TRUE(store->Set("rank", "a").ok()) << "the same again says nothing new";
  const Status other = store->Set("rank", "b");
  EXPECT_EQ(other.code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(other.message(), HasSubstr("rank"));
  EXPECT_EQ(store->Get("rank", LongWaitDuration()).value(), "a");
}

TEST_P(StoreContract, ManyThreadsMayUseItAtOnce) {
  const auto store = GetParam().make();
  constexpr int kThreads = 8;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&store, i] {
      EXPECT_TRUE(store->Set("k" + std::to_string(i), std::to_string(i)).ok());
      for (int j = 0; j < kThreads; ++j) {
        EXPECT_EQ(store->Get("k" + std::to_string(j), LongWaitDuration()).value(), std::to_string(j));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreContract,
                         ::testing::Values(Kind{"memory", [] { return std::make_unique<MemoryStore>(); }},
                                           Kind{"tcp", [] { return Serve(); }}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(TcpStore, RanksShareWhatTheServerHolds) {
  const auto server = Serve();
  const auto one = Join(server->port());
  const auto two = Join(server->port());
  ASSERT_TRUE(one->Set("from one", "1").ok());
  EXPECT_EQ(two->Get("from one", LongWaitDuration()).value(), "1");
  EXPECT_EQ(server->Get("from one", LongWaitDuration()).value(), "1");
}

TEST(TcpStore, ARankMayComeBeforeTheServer) {
  const std::uint16_t port = FreePort();
  std::thread early([&] { EXPECT_EQ(Join(port)->Get("key", LongWaitDuration()).value(), "value"); });
  Result<std::unique_ptr<TcpStore>> server = TcpStore::Create({.host = "127.0.0.1", .port = port, .serve = true});
  ASSERT_TRUE(server.ok()) << server.status().message();
  EXPECT_TRUE((*server)->Set("key", "value").ok());
  early.join();
}

TEST(TcpStore, WithoutAServerACallEndsAndSaysWhere) {
  const std::uint16_t port = FreePort();
  const auto store = Join(port, Milliseconds(50));
  const Status set = store->Set("key", "value");
  EXPECT_EQ(set.code(), StatusCode::kUnavailable);
  EXPECT_THAT(set.message(), HasSubstr("127.0.0.1:" + std::to_string(port)));
  EXPECT_EQ(store->Get("key", Milliseconds(50)).status().code(), StatusCode::kUnavailable);
}

TEST(TcpStore, ATakenPortIsNamed) {
  const auto server = Serve();
  const auto second = TcpStore::Create({.host = "127.0.0.1", .port = server->port(), .serve = true});
  EXPECT_EQ(second.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(second.status().message(), HasSubstr(std::to_string(server->port())));
}

TEST(TcpStore, RefusesWhatIsTooLong) {
  const auto store = Serve();
  EXPECT_EQ(store->Set("", "v").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(store->Set(std::string(kStoreKeyBytesMax + 1, 'k'), "v").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(store->Set("k", std::string(kStoreValueBytesMax + 1, 'v')).code(), StatusCode::kInvalidArgument);
  const std::string longest(kStoreValueBytesMax, 'v');
  ASSERT_TRUE(store->Set("k", longest).ok());
  EXPECT_EQ(store->Get("k", LongWaitDuration()).value(), longest);
}

// Whether the other side ends the connection within a bound.
bool IsEnded(int socket) {
  char byte;
  pollfd polled{socket, POLLIN, 0};
  return ::poll(&polled, 1, LongWaitMs()) == 1 && ::recv(socket, &byte, 1, 0) <= 0;
}

UniqueFd Call(std::uint16_t port, const std::string& text) {
  Result<UniqueFd> socket = net::StartConnect(*net::ResolveAddress("127.0.0.1", port));
  GLIM_CHECK(socket.ok(), socket.status().message());
  pollfd polled{socket->get(), POLLOUT, 0};
  ::poll(&polled, 1, LongWaitMs());
  GLIM_CHECK(::send(socket->get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()), "");
  return std::move(socket).value();
}

TEST(TcpStore, ANoisyStrangerIsCutOffAndHarmsNobody) {
  const auto server = Serve();
  const std::string too_long = std::string("GHS1\x01", 5) + std::string(15, '\xff');
  const std::string unknown_kind = std::string("GHS1\x09", 5) + std::string(15, '\0');
  for (const std::string& noise : {std::string("GET / HTTP/1.1\r\n\r\n"), too_long, unknown_kind}) {
    const UniqueFd stranger = Call(server->port(), noise);
    EXPECT_TRUE(IsEnded(stranger.get())) << noise;
  }
  const UniqueFd silent = Call(server->port(), "");
  EXPECT_TRUE(server->Set("key", "value").ok());
  EXPECT_EQ(server->Get("key", LongWaitDuration()).value(), "value");
}

TEST(TcpStore, AServerThatGoesEndsAWait) {
  auto server = Serve();
  const auto store = Join(server->port());
  ASSERT_TRUE(store->Set("key", "value").ok());
  server.reset();
  EXPECT_EQ(store->Get("key", Milliseconds(100)).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace glim::hfreduce
