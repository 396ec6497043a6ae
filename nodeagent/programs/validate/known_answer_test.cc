// The answer that every core has to find, computed here in another way.
#include "nodeagent/programs/validate/known_answer.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

namespace glim::validate {
namespace {

// Lane by lane, with the C library's fused multiply-add, and a product of 128 bits that is cut to 64.
std::uint64_t AnswerAnotherWay(std::uint32_t steps) {
  unsigned __int128 state = kSeed;
  unsigned __int128 sum = 0;
  const unsigned __int128 mask = ~std::uint64_t{0};
  for (std::uint32_t step = 0; step < steps; ++step) {
    state ^= state >> 12;
    state = (state ^ (state << 25)) & mask;
    state ^= state >> 27;
    sum = (sum + state * 0x2545F4914F6CDD1DULL) & mask;
  }
  auto answer = static_cast<std::uint64_t>((sum ^ state) & mask);
  for (int lane = 1; lane <= 32; ++lane) {
    double x = lane / 64.0 + 0.001;
    for (std::uint32_t step = 0; step < steps; ++step) {
      const double y = std::fma(x, -x, x);
      x = 3.99 * y;
    }
    answer ^= std::bit_cast<std::uint64_t>(x);
    answer *= 1099511628211ULL;
  }
  return answer;
}

TEST(TheKnownAnswer, IsThatOfExactArithmetic) {
  // By rationals of any size, rounded once an operation (Python's fractions).
  EXPECT_EQ(KnownAnswer(50), 0xFC7D66DFBEEB5951ULL);
}

TEST(TheKnownAnswer, IsFoundInAnotherWay) {
  for (const std::uint32_t steps : {0U, 1U, 2U, 1000U}) EXPECT_EQ(KnownAnswer(steps), AnswerAnotherWay(steps)) << steps;
  EXPECT_EQ(KnownAnswer(kPieceSteps), kPieceAnswer);
  EXPECT_EQ(AnswerAnotherWay(kPieceSteps), kPieceAnswer);
}

TEST(TheKnownAnswer, IsAnotherOneAfterAnotherNumberOfSteps) { EXPECT_NE(KnownAnswer(kPieceSteps - 1), kPieceAnswer); }

}  // namespace
}  // namespace glim::validate
