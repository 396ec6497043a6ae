#include "sdk/base/gpu_time_text.h"

#include <gtest/gtest.h>

#include "sdk/base/time.h"

namespace glim {
namespace {

TEST(GpuTime, IsSaidInTheUnitThatFits) {
  EXPECT_EQ(GpuTimeText(Hours(1).ms * 4 / 10), "0.4 GPU-hours");
  EXPECT_EQ(GpuTimeText(Hours(12).ms), "12.0 GPU-hours");
  EXPECT_EQ(GpuTimeText(Minutes(5).ms), "5 GPU-minutes");
  EXPECT_EQ(GpuTimeText(Seconds(30).ms), "30 GPU-seconds");
  EXPECT_EQ(GpuTimeText(0), "0 GPU-seconds");
}

}  // namespace
}  // namespace glim
