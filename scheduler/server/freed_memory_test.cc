#include "scheduler/server/freed_memory.h"

#include <gtest/gtest.h>

namespace glim::server {
namespace {

constexpr std::uint64_t kMebi = 1 << 20;

TEST(FreedMemory, IsGivenBackWhereMuchIsIdle) {
  EXPECT_FALSE(ShouldGiveBack(20 * kMebi, 23 * kMebi, 60 * kMebi)) << "little is idle";
  EXPECT_TRUE(ShouldGiveBack(20 * kMebi, 24 * kMebi, 60 * kMebi));
  EXPECT_FALSE(ShouldGiveBack(50 * kMebi, 50 * kMebi, 90 * kMebi)) << "it is in pieces";
  EXPECT_FALSE(ShouldGiveBack(50 * kMebi, 20 * kMebi, 90 * kMebi)) << "it is in use again";
}

TEST(FreedMemory, IsLookedForSeldomerWhereThereIsMore) {
  EXPECT_FALSE(ShouldGiveBack(0, 200 * kMebi, 3'300 * kMebi));
  EXPECT_TRUE(ShouldGiveBack(0, 210 * kMebi, 3'300 * kMebi));
}

}  // namespace
}  // namespace glim::server
