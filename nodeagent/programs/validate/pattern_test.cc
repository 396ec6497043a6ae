// A word of memory that is not as it was written is named.
#include "nodeagent/programs/validate/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <vector>

namespace glim::validate {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kFirst = 1000;

TEST(Patterns, AreReadAsTheyWereWritten) {
  std::vector<std::uint64_t> words(4096);
  for (const Pattern pattern : kPatterns) {
    Fill(words, pattern, kFirst);
    EXPECT_EQ(FirstWrong(words, pattern, kFirst), std::nullopt) << ToString(pattern);
  }
}

TEST(Patterns, OneFlippedBitIsFoundInEach) {
  for (const Pattern pattern : kPatterns) {
    std::vector<std::uint64_t> words(512);
    Fill(words, pattern, kFirst);
    words[77] ^= 1ULL << 13;
    words[78] ^= 1ULL;
    const auto wrong = FirstWrong(words, pattern, kFirst);
    ASSERT_TRUE(wrong.has_value()) << ToString(pattern);
    char address[32];
    std::snprintf(address, sizeof address, "%p", static_cast<void*>(&words[77]));
    EXPECT_THAT(*wrong, HasSubstr(address)) << "the first one";
    EXPECT_THAT(*wrong, HasSubstr("bits 0x0000000000002000")) << ToString(pattern);
  }
}

// A line of the address that is stuck makes two places one.
TEST(Patterns, AWordThatIsAtAnotherPlaceIsFound) {
  for (const Pattern pattern : {Pattern::kAddress, Pattern::kRandom}) {
    std::vector<std::uint64_t> words(512);
    Fill(words, pattern, 0);
    words[256 + 3] = words[3];
    EXPECT_TRUE(FirstWrong(words, pattern, 0).has_value()) << ToString(pattern);
  }
}

TEST(Patterns, HaveEachBitBothWays) {
  std::uint64_t ones = 0, zeros = 0;
  for (const Pattern pattern : {Pattern::kFives, Pattern::kAs}) {
    ones |= WordOf(pattern, 0);
    zeros |= ~WordOf(pattern, 0);
  }
  EXPECT_EQ(ones & zeros, ~0ULL);
  std::set<std::uint64_t> walking;
  for (std::uint64_t place = 0; place < 64; ++place) {
    walking.insert(WordOf(Pattern::kWalkingOne, place));
    EXPECT_EQ(std::popcount(WordOf(Pattern::kWalkingOne, place)), 1);
  }
  EXPECT_EQ(walking.size(), 64u);
}

}  // namespace
}  // namespace glim::validate
