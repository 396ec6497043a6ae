// Nobody takes what others need: what one user may take, one peer, and all together.
#include "scheduler/server/limits/caller_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace glim::server {
namespace {

using ::testing::HasSubstr;

class CallerLimitsTest : public ::testing::Test {
 protected:
  CallerLimitsTest() {
    for (const BoundOf of : {BoundOf::kUser, BoundOf::kPeer, BoundOf::kAll}) {
      for (std::size_t i = 0; i < kBounds; ++i) bounds_.At(of, static_cast<Bound>(i)) = 1'000'000;
    }
  }
  CallerLimits Make() {
    return CallerLimits(bounds_, [this] { return now_; });
  }

  Bounds bounds_;
  TimePoint now_{1'000};
  const CallerKey kim_{"kim", "ipv4:10.0.0.1"};
  const CallerKey lee_{"lee", "ipv4:10.0.0.1"};
  const CallerKey far_{"zoe", "ipv4:10.0.0.2"};
};

TEST_F(CallerLimitsTest, TheUsersBoundComesFirstThenThePeersThenThatOfAll) {
  bounds_.At(BoundOf::kUser, Bound::kStreams) = 2;
  bounds_.At(BoundOf::kPeer, Bound::kStreams) = 3;
  bounds_.At(BoundOf::kAll, Bound::kStreams) = 4;
  CallerLimits limits = Make();
  const CallerLimits::Amounts one = {{Bound::kStreams, 1}};
  auto a = limits.Admit(kim_, one), b = limits.Admit(kim_, one);
  ASSERT_TRUE(a.ok() && b.ok());
  const Status by_user = limits.Admit(kim_, one).status();
  EXPECT_EQ(by_user.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(by_user.reason(), "OVERLOADED");
  EXPECT_EQ(by_user.field(), "limits.user.streams");
  EXPECT_THAT(by_user.message(), HasSubstr("user kim has as many logs and events being read as may be: 2"));
  EXPECT_THAT(by_user.fix(), HasSubstr("end one of them, or try again in 10 s"));

  auto c = limits.Admit(lee_, one);
  ASSERT_TRUE(c.ok()) << "another user is served";
  EXPECT_EQ(limits.Admit({"made-up", kim_.peer}, one).status().field(), "limits.peer.streams");
  auto d = limits.Admit(far_, one);
  ASSERT_TRUE(d.ok()) << "another peer is served";
  EXPECT_EQ(limits.Admit({"ida", "ipv4:10.0.0.3"}, one).status().field(), "limits.all.streams");
  b->Release();
  EXPECT_TRUE(limits.Admit(kim_, one).ok()) << "what is given back may be taken again";
}

TEST_F(CallerLimitsTest, TellWhatAllHoldAndWhichBoundRefusedHowOften) {
  bounds_.At(BoundOf::kUser, Bound::kStreams) = 2;
  bounds_.At(BoundOf::kPeer, Bound::kStreams) = 3;
  CallerLimits limits = Make();
  const CallerLimits::Amounts one = {{Bound::kStreams, 1}};
  const auto a = limits.Admit(kim_, one), b = limits.Admit(kim_, one), c = limits.Admit(lee_, one);
  EXPECT_FALSE(limits.Admit(kim_, one).ok());
  EXPECT_FALSE(limits.Admit(lee_, one).ok());
  EXPECT_FALSE(limits.Admit(lee_, one).ok());
  const CallerLimits::Figures figures = limits.figures();
  const auto streams = static_cast<std::size_t>(Bound::kStreams);
  EXPECT_EQ(figures.held[streams], 3u);
  EXPECT_EQ(figures.refused[static_cast<std::size_t>(BoundOf::kUser)][streams], 1u);
  EXPECT_EQ(figures.refused[static_cast<std::size_t>(BoundOf::kPeer)][streams], 2u);
  EXPECT_EQ(figures.refused[static_cast<std::size_t>(BoundOf::kAll)][streams], 0u);
}

// Somebody without a token holds calls on the host where kim works.
TEST_F(CallerLimitsTest, StrangersTakeNothingOfWhatThePeersUsersNeed) {
  bounds_.At(BoundOf::kUser, Bound::kCalls) = 2;
  bounds_.At(BoundOf::kPeer, Bound::kCalls) = 5;
  CallerLimits limits = Make();
  const CallerLimits::Amounts one = {{Bound::kCalls, 1}};
  const CallerKey stranger{"", kim_.peer, true};
  auto a = limits.Admit(stranger, one), b = limits.Admit(stranger, one);
  ASSERT_TRUE(a.ok() && b.ok());
  const Status refused = limits.Admit(stranger, one).status();
  EXPECT_EQ(refused.field(), "limits.user.calls");
  EXPECT_THAT(refused.message(), HasSubstr("those at peer ipv4:10.0.0.1 who have shown no token have as many calls"));
  EXPECT_TRUE(limits.Admit({"", far_.peer, true}, one).ok()) << "those of another peer are others";
  auto c = limits.Admit(kim_, one), d = limits.Admit(kim_, one), e = limits.Admit(lee_, one);
  EXPECT_TRUE(c.ok() && d.ok() && e.ok());
  EXPECT_FALSE(limits.Admit({"", kim_.peer}, one).ok()) << "the peer's bound holds for agents, too";
  a->Release();
  EXPECT_TRUE(limits.Admit(stranger, one).ok());
}

TEST_F(CallerLimitsTest, ManyRequestsASecondAreRefusedAndTheRefusalSaysWhenToComeAgain) {
  bounds_.At(BoundOf::kUser, Bound::kRequests) = 10;
  CallerLimits limits = Make();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(limits.Admit(kim_, {}).ok()) << i << " of a burst of five seconds";
  const Status refused = limits.Admit(kim_, {}).status();
  EXPECT_EQ(refused.field(), "limits.user.requests_per_second");
  EXPECT_EQ(refused.fix(), "try again in 101 ms, and less often");
  EXPECT_TRUE(limits.Admit(lee_, {}).ok());
  now_ = now_ + Milliseconds(101);
  EXPECT_TRUE(limits.Admit(kim_, {}).ok());
  EXPECT_FALSE(limits.Admit(kim_, {}).ok());
}

TEST_F(CallerLimitsTest, ChangesAreBoundedInBytesASecondAndTheRefusalSaysWhenToComeAgain) {
  bounds_.At(BoundOf::kUser, Bound::kChanges) = 1'000;
  CallerLimits limits = Make();
  for (int i = 0; i < 128; ++i) ASSERT_TRUE(limits.Admit(kim_, {{Bound::kChanges, 1'000}}).ok()) << i << " of a burst";
  const Status refused = limits.Admit(kim_, {{Bound::kChanges, 4'500}}).status();
  EXPECT_EQ(refused.reason(), "OVERLOADED");
  EXPECT_EQ(refused.field(), "limits.user.changes_kib_per_second");
  EXPECT_THAT(refused.message(), HasSubstr("user kim has as many bytes of changes a second as may be: 1000 bytes"));
  EXPECT_THAT(refused.fix(), HasSubstr("try again in 5 s, with fewer or smaller jobs: 125.0 KiB may come at once"));
  EXPECT_TRUE(limits.Admit(kim_, {}).ok()) << "who changes nothing is served";
  EXPECT_TRUE(limits.Admit(lee_, {{Bound::kChanges, 1'000}}).ok());
  now_ = now_ + Seconds(4);
  EXPECT_FALSE(limits.Admit(kim_, {{Bound::kChanges, 4'500}}).ok());
  EXPECT_TRUE(limits.Admit(kim_, {{Bound::kChanges, 4'000}}).ok());
  now_ = now_ + Seconds(128);
  EXPECT_TRUE(limits.Admit(kim_, {{Bound::kChanges, 128'000}}).ok()) << "filled again, and no further";
  EXPECT_FALSE(limits.Admit(kim_, {{Bound::kChanges, 1}}).ok());
}

// A rate that is set too low must not shut the largest call out for ever.
TEST_F(CallerLimitsTest, WhoHasChangedNothingMaySendMoreThanABurstOnce) {
  bounds_.At(BoundOf::kUser, Bound::kChanges) = 1'000;
  CallerLimits limits = Make();
  EXPECT_TRUE(limits.Admit(kim_, {{Bound::kChanges, 256'000}}).ok());
  const Status refused = limits.Admit(kim_, {{Bound::kChanges, 1}}).status();
  EXPECT_THAT(refused.fix(), HasSubstr("try again in 129 s"));
  now_ = now_ + Seconds(129);
  EXPECT_TRUE(limits.Admit(kim_, {{Bound::kChanges, 1}}).ok());
}

TEST_F(CallerLimitsTest, WhatIsRefusedTakesNothing) {
  bounds_.At(BoundOf::kUser, Bound::kBytes) = 100;
  CallerLimits limits = Make();
  auto held = limits.Admit(kim_, {{Bound::kCalls, 1}, {Bound::kBytes, 60}});
  ASSERT_TRUE(held.ok());
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(limits.Admit(kim_, {{Bound::kCalls, 1}, {Bound::kBytes, 60}}).ok());
  EXPECT_TRUE(limits.Admit(kim_, {{Bound::kBytes, 40}}).ok());
  held->Hold(Bound::kBytes, 50);  // its answer
  EXPECT_EQ(limits.Admit(kim_, {{Bound::kBytes, 1}}).status().field(), "limits.user.queued_mib");
  *held = Admission();
  EXPECT_TRUE(limits.Admit(kim_, {{Bound::kBytes, 100}}).ok());
}

// A bound that is set too low must not shut the largest call out for ever.
TEST_F(CallerLimitsTest, WhoeverHoldsNothingMaySendTheLargestMessage) {
  bounds_.At(BoundOf::kUser, Bound::kBytes) = kMib;
  CallerLimits limits = Make();
  EXPECT_TRUE(limits.Admit(kim_, {{Bound::kBytes, 16 * kMib}}).ok());
}

TEST_F(CallerLimitsTest, MadeUpNamesLeaveNoRows) {
  CallerLimits limits = Make();
  for (int i = 0; i < 100'000; ++i) {
    now_ = now_ + Milliseconds(1);
    EXPECT_TRUE(limits.Admit({"user-" + std::to_string(i), "ipv4:10.0.0.1"}, {{Bound::kCalls, 1}}).ok());
  }
  EXPECT_LT(limits.rows(), 10'000u);
}

TEST_F(CallerLimitsTest, ManyThreadsMayAskAndAllIsGivenBack) {
  bounds_.At(BoundOf::kUser, Bound::kCalls) = 4;
  CallerLimits limits = Make();
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1'000; ++i) (void)limits.Admit(kim_, {{Bound::kCalls, 1}});
    });
  }
  threads.clear();  // joins
  EXPECT_TRUE(limits.Admit(kim_, {{Bound::kCalls, 4}}).ok());
}

TEST(PeerHost, IsTheAddressWithoutItsPort) {
  EXPECT_EQ(PeerHost("ipv4:10.0.0.7:51234"), "ipv4:10.0.0.7");
  EXPECT_EQ(PeerHost("ipv6:%5B::1%5D:51234"), "ipv6:%5B::1%5D");
  EXPECT_EQ(PeerHost("unix:/run/glim.sock"), "unix");
  EXPECT_EQ(PeerHost("unix:"), "unix");
  EXPECT_EQ(PeerHost("strange"), "strange");
}

}  // namespace
}  // namespace glim::server
