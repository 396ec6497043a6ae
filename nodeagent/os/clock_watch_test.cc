// An agent starts anew when its clock was set back by more than a wait may be longer; everything else is daily life.
#include "nodeagent/os/clock_watch.h"

#include <gtest/gtest.h>

namespace glim::nodeagent {
namespace {

TEST(ClockWatch, TellsByHowMuchTheClockWasSetBack) {
  const auto by = ClockWatch::SetBack(Hours(10), Hours(7));
  ASSERT_TRUE(by.has_value());
  EXPECT_EQ(*by, Hours(3));
}

TEST(ClockWatch, LeavesSmallCorrectionsAndStepsAheadAlone) {
  EXPECT_EQ(ClockWatch::SetBack(Hours(10), Hours(10)), std::nullopt);
  EXPECT_EQ(ClockWatch::SetBack(Seconds(10), Milliseconds(8500)), std::nullopt);
  EXPECT_EQ(ClockWatch::SetBack(Seconds(10), Hours(10)), std::nullopt) << "set ahead, or asleep for hours";
}

}  // namespace
}  // namespace glim::nodeagent
