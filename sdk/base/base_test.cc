#include <gtest/gtest.h>

#include <array>
#include <string>

#include "sdk/base/hex.h"
#include "sdk/base/little_endian.h"
#include "sdk/base/result.h"
#include "sdk/base/rng.h"
#include "sdk/base/status_name.h"
#include "sdk/base/strong_id.h"
#include "sdk/base/time.h"

namespace glim {
namespace {

TEST(HexText, HasTwoLowerCaseDigitsForEachByte) {
  EXPECT_EQ(HexText(std::array<unsigned char, 4>{0x00, 0x0F, 0xA0, 0xFF}), "000fa0ff");
  EXPECT_EQ(HexText(std::array<std::byte, 1>{std::byte{0x7E}}), "7e");
}

TEST(LittleEndian, TheLowestByteComesFirst) {
  std::string text;
  AppendLittleEndian(text, std::uint8_t{0xFE});
  AppendLittleEndian(text, std::uint32_t{0x01020304});
  AppendLittleEndian(text, std::uint64_t{0xFFEEDDCCBBAA9988});
  EXPECT_EQ(HexText(text), "fe040302018899aabbccddeeff");
  EXPECT_EQ(FromLittleEndian(std::string_view(text).substr(0, 1)), 0xFEu);
  EXPECT_EQ(FromLittleEndian(std::string_view(text).substr(1, 4)), 0x01020304u);
  EXPECT_EQ(FromLittleEndian(std::string_view(text).substr(5)), 0xFFEEDDCCBBAA9988u);
  EXPECT_EQ(FromLittleEndian(""), 0u);
}

TEST(StatusName, IsThatOfGrpc) {
  EXPECT_STREQ(StatusName(StatusCode::kOk), "OK");
  EXPECT_STREQ(StatusName(StatusCode::kUnauthenticated), "UNAUTHENTICATED");
  EXPECT_STREQ(StatusName(static_cast<StatusCode>(99)), "UNKNOWN");
}

TEST(Result, HoldsAValueOrTheReasonWhyNot) {
  Result<int> good = 7;
  Result<int> bad = InvalidArgument("nodes", "0 is not a size", "use 1 or more");
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(*good, 7);
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().field(), "nodes");
  EXPECT_EQ(bad.status().fix(), "use 1 or more");
}

TEST(ResultDeathTest, AskingAFailedResultForItsValueIsABug) {
  Result<int> bad = Status(StatusCode::kNotFound, "no job 7");
  EXPECT_DEATH((void)*bad, "no job 7");
}

TEST(StrongId, ZeroIsNone) {
  using Id = StrongId<struct TestTag>;
  EXPECT_FALSE(Id());
  EXPECT_TRUE(Id(3));
  EXPECT_LT(Id(3), Id(4));
}

TEST(Time, Arithmetic) {
  EXPECT_EQ((TimePoint{5000} + Seconds(2)).ms, 7000);
  EXPECT_EQ((TimePoint{5000} - TimePoint{1000}), Seconds(4));
}

TEST(Rng, TheSameSeedGivesTheSameNumbersEverywhere) {
  Rng rng(1);
  EXPECT_EQ(rng.Next(), 0x910a2dec89025cc1ULL);
  EXPECT_EQ(rng.Next(), 0xbeeb8da1658eec67ULL);
}

TEST(Rng, BetweenReachesBothEnds) {
  Rng rng(2);
  bool low = false, high = false;
  for (int i = 0; i < 1000; ++i) {
    const auto n = rng.Between(1, 6);
    ASSERT_GE(n, 1);
    ASSERT_LE(n, 6);
    low |= n == 1;
    high |= n == 6;
  }
  EXPECT_TRUE(low && high);
}

}  // namespace
}  // namespace glim
