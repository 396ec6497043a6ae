#include "sdk/base/size_text.h"

#include <gtest/gtest.h>

namespace glim {
namespace {

TEST(SizeText, ReadsAWholeNumberAndAUnit) {
  EXPECT_EQ(ParseSize("64GiB"), std::int64_t{64} << 30);
  EXPECT_EQ(ParseSize("512MiB"), 512 << 20);
  EXPECT_EQ(ParseSize("0KiB"), 0);
  EXPECT_EQ(ParseSize("2TiB"), std::int64_t{2} << 40);
}

TEST(SizeText, RefusesEverythingElse) {
  for (const char* text : {"", "64", "64G", "64 GiB", "-1GiB", "+1GiB", "1.5GiB", "GiB", "9999999999TiB",
                           "99999999999999999999KiB", "1gib"}) {
    EXPECT_FALSE(ParseSize(text)) << text;
  }
}

TEST(SizeText, WritesTheLargestWholeUnit) {
  EXPECT_EQ(WriteSize(std::int64_t{64} << 30), "64GiB");
  EXPECT_EQ(WriteSize(1536 << 20), "1536MiB");
  EXPECT_EQ(WriteSize(1000), "1000 bytes");
  EXPECT_EQ(WriteSize(0), "0 bytes");
}

}  // namespace
}  // namespace glim
