// No scheduler can make an agent deaf to the others for good: epochs are believed up to a bound.
#include "nodeagent/sync/epoch_bound.h"

#include <gtest/gtest.h>

#include <limits>

namespace glim::nodeagent {
namespace {

constexpr std::int64_t kClockS = 1'800'000'000;
constexpr TimePoint kWall{kClockS * 1000};
constexpr TimePoint kBoot{5'000'000};
constexpr std::int64_t kDayS = 24 * 3600;

bool Believes(EpochBound& bound, std::uint64_t epoch, TimePoint now = kBoot, TimePoint wall = kWall) {
  return bound.Believe(epoch, wall, now).ok();
}

TEST(EpochBound, IsADayAheadOfTheNodesClock) {
  EpochBound fresh(0, kBoot);
  EXPECT_TRUE(Believes(fresh, 1)) << "a scheduler whose clock is behind";
  EXPECT_TRUE(Believes(fresh, kClockS + kDayS));
  const Status refused = fresh.Believe(std::numeric_limits<std::uint64_t>::max(), kWall, kBoot);
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.field(), "epoch");
  EXPECT_NE(refused.message().find("18446744073709551615"), std::string::npos) << refused.message();
  EXPECT_NE(refused.fix().find("clock"), std::string::npos) << refused.fix();
}

TEST(EpochBound, SaysHowFarTheNodesClockIsBehind) {
  EpochBound fresh(1, kBoot);
  const Status refused = fresh.Believe(kClockS + std::int64_t{30} * 3600, kWall, kBoot);
  EXPECT_EQ(refused.message().find("the clock of this node is 30 h behind the scheduler's: "), 0u) << refused.message();
}

TEST(EpochBound, AClusterWhoseEpochsRanAheadGoesOnCounting) {
  constexpr std::uint64_t kFar = 3'000'000'000;
  EpochBound bound(kFar, kBoot);
  EXPECT_TRUE(Believes(bound, kFar + 1));
  EXPECT_TRUE(Believes(bound, kFar + EpochBound::kStepsMax));
  EXPECT_FALSE(Believes(bound, kFar + EpochBound::kStepsMax + 1));
}

TEST(EpochBound, CannotBeClimbedStepByStep) {
  EpochBound bound(kClockS, kBoot);
  std::uint64_t highest = 0;
  for (std::uint64_t epoch = kClockS; epoch < kClockS + 100 * kDayS; epoch += 500) {
    if (Believes(bound, epoch)) highest = epoch;
  }
  EXPECT_LE(highest, kClockS + kDayS + EpochBound::kStepsMax) << "a day later the clock itself is there";
  EXPECT_GT(highest, static_cast<std::uint64_t>(kClockS));
}

TEST(EpochBound, TheStepsCountAnewAfterADay) {
  constexpr std::uint64_t kFar = 3'000'000'000;
  EpochBound bound(kFar, kBoot);
  EXPECT_TRUE(Believes(bound, kFar + 900));
  EXPECT_FALSE(Believes(bound, kFar + 1800)) << "the base has not moved";
  EXPECT_TRUE(Believes(bound, kFar + 900, kBoot + Hours(24)));
  EXPECT_TRUE(Believes(bound, kFar + 1800, kBoot + Hours(25)));
}

}  // namespace
}  // namespace glim::nodeagent
