#include "sdk/base/number_text.h"

#include <gtest/gtest.h>

#include <string>

namespace glim {
namespace {

TEST(NumberText, IsReadAsTheSameNumber) {
  EXPECT_EQ(NumberText(576), "576");
  EXPECT_EQ(NumberText(0.1), "0.1");
  for (const double number : {41.66636900117737, -1.0 / 3, 1e300, 2.5e-300}) {
    EXPECT_EQ(std::stod(NumberText(number)), number);
  }
}

TEST(NumberText, IsRounded) {
  EXPECT_EQ(NumberText(41.66636900117737, 6), "41.6664");
  EXPECT_EQ(NumberText(880.25, 6), "880.25");
  EXPECT_EQ(NumberText(2, 6), "2");
}

}  // namespace
}  // namespace glim
