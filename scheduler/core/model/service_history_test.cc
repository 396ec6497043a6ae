#include "scheduler/core/model/service_history.h"

#include <gtest/gtest.h>

namespace glim::core {
namespace {

const Kind kAnn{"ann", 1, {}};

const RuntimePrediction& Of(const ServiceHistory& history, const Kind& kind) {
  return history.RuntimePredictionOf(kind, Minutes(5), Hours(4));
}

TEST(FixedLog2, IsTheLogarithmToAThousandth) {
  EXPECT_EQ(FixedLog2(0), 0);
  EXPECT_EQ(FixedLog2(1), 0);
  EXPECT_EQ(FixedLog2(2), 1024);
  EXPECT_EQ(FixedLog2(1024), 10 * 1024);
  EXPECT_NEAR(static_cast<double>(FixedLog2(3)), 1.5849625 * 1024, 1.1);
  EXPECT_NEAR(static_cast<double>(FixedLog2(1'000'000'007)), 29.8973529 * 1024, 1.1);
  EXPECT_EQ(FixedLog2(std::uint64_t{1} << 63), 63 * 1024);
}

TEST(ServiceBucket, GrowsWithTheServiceAndHoldsIt) {
  EXPECT_EQ(ServiceBucket({}), 0);
  EXPECT_EQ(ServiceBucket(Seconds(30) - Milliseconds(1)), 0);
  EXPECT_EQ(ServiceBucket(Seconds(30)), 1);
  EXPECT_EQ(ServiceBucket(Hours(24 * 10'000)), kServiceBuckets - 1);
  for (std::size_t i = 0; i < kServiceBuckets; ++i) {
    EXPECT_EQ(ServiceBucket(BucketBegin(i)), i);
    EXPECT_LT(BucketBegin(i), BucketBegin(i + 1));
  }
}

TEST(ServiceHistory, WithoutAnyTheOldComeLast) {
  const ServiceHistory history;
  const auto& running = Of(history, kAnn).running;
  for (std::size_t i = 2; i + 1 < 50; ++i) EXPECT_GE(running[i], running[i + 1]) << i;
}

TEST(ServiceHistory, StartingCostsWhatGoingOnDoesNot) {
  const ServiceHistory history;
  const RuntimePrediction& prediction = Of(history, kAnn);
  for (std::size_t i = 0; i < kServiceBuckets; ++i) EXPECT_LE(prediction.waiting[i], prediction.running[i]) << i;
}

// Jobs that all take two hours are not like heavy tails: the older one is nearer to its end.
TEST(ServiceHistory, LearnsThatTheOldMayBeNearTheEnd) {
  ServiceHistory history;
  for (int i = 0; i < 100; ++i) history.Add(kAnn, Hours(2));
  const RuntimePrediction& prediction = Of(history, kAnn);
  EXPECT_GT(prediction.running[ServiceBucket(Minutes(100))], prediction.running[ServiceBucket(Minutes(10))]);
  const std::size_t young = ServiceBucket(Minutes(10));
  EXPECT_NEAR(static_cast<double>(prediction.remaining_p50_ms[young]), static_cast<double>(Minutes(110).ms),
              static_cast<double>(Minutes(30).ms));
  EXPECT_LE(prediction.remaining_p10_ms[young], prediction.remaining_p50_ms[young]);
  EXPECT_LE(prediction.remaining_p50_ms[young], prediction.remaining_p90_ms[young]);
  EXPECT_GT(prediction.ends_soon_permille[young], 900);
}

TEST(ServiceHistory, AUsersOwnJobsTellMoreThanOthers) {
  ServiceHistory history;
  const Kind bob{"bob", 1, {}};
  for (int i = 0; i < 200; ++i) history.Add(kAnn, Minutes(2));
  for (int i = 0; i < 20; ++i) history.Add(bob, Hours(20));
  EXPECT_GT(Of(history, kAnn).running[0], Of(history, bob).running[0] + 1024) << "a doubling at least";
}

TEST(ServiceHistory, ATimeLimitTellsWhereItEnds) {
  const ServiceHistory history;
  const Kind limited{"ann", 1, Hours(1)};
  const std::size_t late = ServiceBucket(Minutes(58));
  EXPECT_GT(Of(history, limited).running[late], Of(history, kAnn).running[late]);
}

TEST(ServiceHistory, WhatIsTakenOutWasNeverIn) {
  ServiceHistory history;
  history.Add(kAnn, Hours(2));
  history.Add(kAnn, Hours(3));
  history.Remove(kAnn, Hours(2));
  ServiceHistory other;
  other.Add(kAnn, Hours(3));
  EXPECT_EQ(history, other);
  history.Remove(kAnn, Hours(3));
  EXPECT_EQ(history, ServiceHistory());
}

}  // namespace
}  // namespace glim::core
