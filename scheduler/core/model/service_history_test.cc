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

TEST(ServiceHistory, IsWhatItsRowsSay) {
  ServiceHistory history, loaded;
  std::map<LifeTableId, LifeTable> rows;
  for (int i = 0; i < 50; ++i) {
    for (const LifeTable& row : history.With({i % 2 ? "ann" : "bob", 1, Hours(i % 3)}, Minutes(7 * i), TimePoint{i})) {
      history.Put(row);
      rows[row.id] = row;
    }
  }
  for (const auto& [id, row] : rows) loaded.Put(row);
  EXPECT_EQ(history, loaded);
  EXPECT_EQ(history.observed(), 50u);
}

TEST(ServiceHistory, OldObservationsGiveWay) {
  ServiceHistory history;
  for (int i = 0; i < 30'000; ++i) history.Add(kAnn, Minutes(2));
  EXPECT_LE(history.observed(), 20'001u);
  for (int i = 0; i < 30'000; ++i) history.Add(kAnn, Hours(20));
  EXPECT_LT(Of(history, kAnn).ends_soon_permille[0], 300) << "most jobs are long by now";
}

// Limits in minutes make kinds cheap to invent: whoever does so loses their own, and nobody else's.
TEST(ServiceHistory, AUserWithEverNewKindsLosesTheirOldestOnly) {
  ServiceHistory history;
  const Kind bob{"bob", 1, Hours(1)};
  history.Add(bob, Hours(1), TimePoint{1});
  for (int i = 0; i < 2'000; ++i) {
    const Kind kind{"ann", 1, Minutes(1 + i)};
    const auto surplus = history.Surplus(kind);
    EXPECT_EQ(surplus.size(), i < 500 ? 0u : 1u) << i;
    for (const LifeTableId& id : surplus) {
      EXPECT_EQ(id.user, "ann");
      EXPECT_EQ(id.limit_minutes, i - 499) << "the oldest";
      history.Erase(id);
    }
    history.Add(kind, Minutes(1), TimePoint{2 + i});
  }
  EXPECT_TRUE(history.Surplus(bob).empty());
}

}  // namespace
}  // namespace glim::core
