#include "scheduler/server/door/denials.h"

#include <gtest/gtest.h>

namespace glim::server {
namespace {

TEST(DenialRate, TellsTenAtOnceThenOneASecondAndCountsTheOthers) {
  DenialRate rate;
  const TimePoint start{1'000'000};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(rate.Tell("10.0.0.1", "kim", start), 0U);
  for (int i = 0; i < 25; ++i) EXPECT_EQ(rate.Tell("10.0.0.1", "kim", start), std::nullopt);
  EXPECT_EQ(rate.Tell("10.0.0.1", "kim", start + Milliseconds(999)), std::nullopt);
  EXPECT_EQ(rate.Tell("10.0.0.1", "kim", start + Seconds(1)), 26U);
  EXPECT_EQ(rate.Tell("10.0.0.1", "kim", start + Seconds(2)), 0U);
}

TEST(DenialRate, OneWhoIsDeniedAllDayHidesNobodyElse) {
  DenialRate rate;
  const TimePoint start{1'000'000};
  for (int i = 0; i < 1'000; ++i) rate.Tell("10.0.0.1", "kim", start);
  EXPECT_EQ(rate.Tell("10.0.0.1", "lee", start), 0U);
  EXPECT_EQ(rate.Tell("10.0.0.2", "kim", start), 0U);
}

TEST(DenialRate, MadeUpNamesShareARowAndFillNoMemory) {
  DenialRate rate;
  const TimePoint start{1'000'000};
  int told = 0;
  for (int i = 0; i < 100'000; ++i) told += rate.Tell("10.0.0.1", "name-" + std::to_string(i), start) ? 1 : 0;
  EXPECT_LE(rate.rows(), DenialRate::kRowsMax);
  EXPECT_LE(told, static_cast<int>(DenialRate::kRowsMax) + 10);
  EXPECT_TRUE(rate.Tell("10.0.0.9", "late", start + Seconds(60))) << "those who have gone make room";
}

}  // namespace
}  // namespace glim::server
