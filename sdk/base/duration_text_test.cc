#include "sdk/base/duration_text.h"

#include <gtest/gtest.h>

namespace glim {
namespace {

TEST(ParseDuration, ReadsAWholeNumberAndAUnit) {
  EXPECT_EQ(ParseDuration("500ms")->ms, 500);
  EXPECT_EQ(ParseDuration("60s")->ms, 60'000);
  EXPECT_EQ(ParseDuration("5m")->ms, 300'000);
  EXPECT_EQ(ParseDuration("12h")->ms, 43'200'000);
  EXPECT_EQ(ParseDuration("7d")->ms, 604'800'000);
}

TEST(ParseDuration, RefusesEverythingElse) {
  for (const char* bad : {"", "5", "s", "-5s", "+5s", "5 s", "5S", "1.5h", "5sec", "99999999999999999999s", "36501d"}) {
    EXPECT_FALSE(ParseDuration(bad)) << bad;
  }
}

TEST(WriteDuration, IsTheLargestUnitThatLeavesAWholeNumberAndReadsBack) {
  EXPECT_EQ(WriteDuration(Minutes(10)), "10m");
  EXPECT_EQ(WriteDuration(Seconds(90)), "90s");
  EXPECT_EQ(WriteDuration(Hours(24)), "1d");
  EXPECT_EQ(WriteDuration({}), "0s");
  for (const std::int64_t ms : {0, 1, 999, 1000, 59'000, 60'000, 90'000, 3'600'000, 86'400'000, 90'061'001}) {
    EXPECT_EQ(ParseDuration(WriteDuration(Milliseconds(ms))), Milliseconds(ms)) << ms;
  }
}

TEST(DurationText, IsExact) {
  EXPECT_EQ(DurationText(Hours(2)), "2 h");
  EXPECT_EQ(DurationText(Minutes(90)), "1 h 30 min");
  EXPECT_EQ(DurationText(Hours(49)), "2 d 1 h");
  EXPECT_EQ(DurationText(Seconds(61)), "1 min 1 s");
  EXPECT_EQ(DurationText(Milliseconds(1500)), "1 s 500 ms");
  EXPECT_EQ(DurationText({}), "0 s");
}

TEST(RoundedDurationText, HasTwoUnitsAtMost) {
  EXPECT_EQ(RoundedDurationText({250}), "250 ms");
  EXPECT_EQ(RoundedDurationText({5'000}), "5 s");
  EXPECT_EQ(RoundedDurationText({12'340}), "12.3 s");
  EXPECT_EQ(RoundedDurationText({60'000}), "1 min");
  EXPECT_EQ(RoundedDurationText({303'999}), "5 min 3 s");
  EXPECT_EQ(RoundedDurationText({7'500'000}), "2 h 5 min");
  EXPECT_EQ(RoundedDurationText({273'600'000}), "3 d 4 h");
  EXPECT_EQ(RoundedDurationText({0}), "0 ms");
  EXPECT_EQ(RoundedDurationText({-1}), "-");
}

}  // namespace
}  // namespace glim
