#include "scheduler/server/freed_memory.h"

#include <gtest/gtest.h>

namespace glim::server {
namespace {

constexpr std::uint64_t kMebi = 1 << 20;

TEST(FreedMemory, IsGivenBackWhereMuchHasCome) {
  EXPECT_FALSE(ShouldGiveBack(40 * kMebi, 43 * kMebi, 20 * kMebi)) << "little has come";
  EXPECT_FALSE(ShouldGiveBack(40 * kMebi, 90 * kMebi, 5 * kMebi)) << "it is in use";
  EXPECT_TRUE(ShouldGiveBack(40 * kMebi, 90 * kMebi, 6 * kMebi));
  EXPECT_FALSE(ShouldGiveBack(90 * kMebi, 90 * kMebi, 50 * kMebi)) << "what is free was given back, or is in pieces";
  EXPECT_FALSE(ShouldGiveBack(90 * kMebi, 40 * kMebi, 50 * kMebi)) << "it went by itself";
}

TEST(FreedMemory, IsLookedForSeldomerWhereThereIsMore) {
  EXPECT_FALSE(ShouldGiveBack(3'200 * kMebi, 3'300 * kMebi, 1'000 * kMebi));
  EXPECT_TRUE(ShouldGiveBack(3'200 * kMebi, 3'500 * kMebi, 1'000 * kMebi));
}

}  // namespace
}  // namespace glim::server
