#include "scheduler/core/model/service_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace glim::core {
namespace {

const Kind kAnn{"ann", 1, {}};

std::int32_t Running(const ServiceHistory& history, const Kind& kind, std::size_t bucket) {
  return history.IndexOfRunning(kind, bucket);
}

std::int32_t Waiting(const ServiceHistory& history, const Kind& kind, std::size_t bucket) {
  return history.IndexOfWaiting(kind, bucket, Minutes(5));
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
  for (std::size_t i = 2; i + 1 < 50; ++i) EXPECT_GE(Running(history, kAnn, i), Running(history, kAnn, i + 1)) << i;
}

TEST(ServiceHistory, StartingCostsWhatGoingOnDoesNot) {
  const ServiceHistory history;
  for (std::size_t i = 0; i < kServiceBuckets; ++i) {
    EXPECT_LE(Waiting(history, kAnn, i), Running(history, kAnn, i)) << i;
  }
}

// Jobs that all take two hours are not like heavy tails: the older one is nearer to its end.
TEST(ServiceHistory, LearnsThatTheOldMayBeNearTheEnd) {
  ServiceHistory history;
  for (int i = 0; i < 100; ++i) history.Add(kAnn, Hours(2));
  EXPECT_GT(Running(history, kAnn, ServiceBucket(Minutes(100))), Running(history, kAnn, ServiceBucket(Minutes(10))));
  const std::size_t young = ServiceBucket(Minutes(10));
  const RemainingTime remaining = history.RemainingOf(kAnn, young);
  EXPECT_NEAR(static_cast<double>(remaining.p50.ms), static_cast<double>(Minutes(110).ms),
              static_cast<double>(Minutes(30).ms));
  EXPECT_LE(remaining.p10, remaining.p50);
  EXPECT_LE(remaining.p50, remaining.p90);
  EXPECT_GT(history.EndsWithinPermille(kAnn, young, Hours(4)), 900);
}

TEST(ServiceHistory, AUsersOwnJobsTellMoreThanOthers) {
  ServiceHistory history;
  const Kind bob{"bob", 1, {}};
  for (int i = 0; i < 200; ++i) history.Add(kAnn, Minutes(2));
  for (int i = 0; i < 20; ++i) history.Add(bob, Hours(20));
  EXPECT_GT(Running(history, kAnn, 0), Running(history, bob, 0) + 1024) << "a doubling at least";
}

TEST(ServiceHistory, ATimeLimitTellsWhereItEnds) {
  const ServiceHistory history;
  const Kind limited{"ann", 1, Hours(1)};
  const std::size_t late = ServiceBucket(Minutes(58));
  EXPECT_GT(Running(history, limited, late), Running(history, kAnn, late));
}

// Whatever was asked before, and of however many kinds: an answer depends on what is in the tables alone.
TEST(ServiceHistory, AnswersDoNotDependOnEarlierQuestions) {
  ServiceHistory asked, fresh;
  const auto kind_of = [](int i) {
    return Kind{"u" + std::to_string(i % 500), 1 + static_cast<std::uint32_t>(i) % 64, {}};
  };
  for (int i = 0; i < 30'000; ++i) {
    const Duration service = Seconds(20 + i % 5'000);
    asked.Add(kind_of(i), service);
    fresh.Add(kind_of(i), service);
    if (i % 3 == 0) Waiting(asked, kind_of(i * 7), static_cast<std::size_t>(i) % kServiceBuckets);
    if (i % 1'000 == 0) asked.IndexOfWaiting(kAnn, 3, Hours(1));  // under another policy
  }
  for (int i = 0; i < 32'000; ++i) ASSERT_EQ(Waiting(asked, kind_of(i), 5), Waiting(fresh, kind_of(i), 5)) << i;
}

TEST(LimitClass, LimitsThatAreNearlyAlikeAreOne) {
  EXPECT_EQ(LimitClass({}), Duration{});
  EXPECT_EQ(LimitClass(Milliseconds(1)), Minutes(1));
  EXPECT_EQ(LimitClass(Minutes(15)), Minutes(15));
  std::set<std::int64_t> classes;
  for (std::int64_t s = 1; s < 86'400 * 30; s += 7) {
    const Duration limit = Seconds(s), of = LimitClass(limit);
    ASSERT_GE(of, limit) << "never shorter than what the job may take";
    ASSERT_LE(of.ms, limit.ms + std::max<std::int64_t>(limit.ms / 7, 60'000));
    ASSERT_EQ(LimitClass(of), of);
    classes.insert(of.ms);
  }
  EXPECT_LT(classes.size(), 120u) << "a month of limits in seconds";
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
  EXPECT_LT(history.EndsWithinPermille(kAnn, 0, Hours(4)), 300) << "most jobs are long by now";
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
