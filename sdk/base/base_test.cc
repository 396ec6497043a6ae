#include <gtest/gtest.h>

#include "sdk/base/result.h"
#include "sdk/base/rng.h"
#include "sdk/base/strong_id.h"
#include "sdk/base/time.h"

namespace glim {
namespace {

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
