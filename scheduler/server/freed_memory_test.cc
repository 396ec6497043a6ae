#include "scheduler/server/freed_memory.h"

#include <gtest/gtest.h>

namespace glim::server {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TEST(FreedMemory, IsGivenBackWhereMuchHasCome) {
  EXPECT_FALSE(ShouldGiveBack(40 * kMiB, 43 * kMiB, 20 * kMiB)) << "little has come";
  EXPECT_FALSE(ShouldGiveBack(40 * kMiB, 90 * kMiB, 5 * kMiB)) << "it is in use";
  EXPECT_TRUE(ShouldGiveBack(40 * kMiB, 90 * kMiB, 6 * kMiB));
  EXPECT_FALSE(ShouldGiveBack(90 * kMiB, 90 * kMiB, 50 * kMiB)) << "what is free was given back, or is in pieces";
  EXPECT_FALSE(ShouldGiveBack(90 * kMiB, 40 * kMiB, 50 * kMiB)) << "it went by itself";
}

TEST(FreedMemory, IsLookedForSeldomerWhereThereIsMore) {
  EXPECT_FALSE(ShouldGiveBack(3'200 * kMiB, 3'300 * kMiB, 1'000 * kMiB));
  EXPECT_TRUE(ShouldGiveBack(3'200 * kMiB, 3'500 * kMiB, 1'000 * kMiB));
}

}  // namespace
}  // namespace glim::server
