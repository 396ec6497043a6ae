#include "sdk/io/random_bytes.h"

#include <gtest/gtest.h>

namespace glim {
namespace {

TEST(RandomHex, HasTwoDigitsForEachByteAndIsNeverTheSame) {
  EXPECT_EQ(RandomHex(0), "");
  const std::string text = RandomHex(256);
  EXPECT_EQ(text.size(), 512u);
  EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(RandomHex(16), RandomHex(16));
}

}  // namespace
}  // namespace glim
