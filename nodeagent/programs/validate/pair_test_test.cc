// Two ends of a connection learn the same figures, and neither waits for ever for an end that is gone.
#include "nodeagent/programs/validate/pair_test.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

#include "sdk/net/socket.h"

namespace glim::validate {
namespace {

struct Ends {
  Ends() {
    const auto listener = net::Listen(*net::ResolveAddress("127.0.0.1", 0));
    auto connection = net::StartConnect(*net::LocalAddress(listener->get()));
    one = std::move(*connection);
    EXPECT_TRUE(net::AwaitReady(listener->get(), POLLIN, net::Deadline(Seconds(10))));
    other = net::Accept(listener->get());
  }
  UniqueFd one, other;
};

TEST(APair, LearnsTheSameFiguresAtBothEnds) {
  Ends ends;
  Result<PairFigures> second = Status(StatusCode::kInternal, "not measured");
  std::thread other([&] { second = TestPair(ends.other, false, 0.05); });
  const Result<PairFigures> first = TestPair(ends.one, true, 0.05);
  other.join();
  ASSERT_TRUE(first.ok() && second.ok()) << first.status().message() << second.status().message();
  EXPECT_GT(first->sent_mbps, 0);
  EXPECT_GT(first->received_mbps, 0);
  EXPECT_GT(first->latency_us, 0);
  EXPECT_EQ(first->sent_mbps, second->received_mbps);
  EXPECT_EQ(first->received_mbps, second->sent_mbps);
  EXPECT_EQ(first->latency_us, second->latency_us);
}

TEST(APair, WhoseOtherEndIsGoneIsAnError) {
  Ends ends;
  ends.other.Reset();
  EXPECT_EQ(TestPair(ends.one, true, 0.05).status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace glim::validate
