// A piece of work whose answer is known: a core that computes wrong, or slowly, is found by it. Pure.
//
// An integer chain (xorshift64*, S. Vigna, An experimental exploration of Marsaglia's xorshift generators, 2016) and 32
// logistic maps x = r x (1 - x) in double precision, on processors that have them with AVX2 and fused multiply-add. The
// maps are chaotic: one wrong bit anywhere becomes another answer. All operations are rounded as IEEE 754 says, so the
// answer is the same on every processor.
#pragma once

#include <cstdint>

namespace glim::validate {

inline constexpr std::uint32_t kPieceSteps = 2'000'000;  // about 20 ms
inline constexpr std::uint64_t kPieceAnswer = 0x5413B0EA3AF3B449ULL;
inline constexpr std::uint64_t kSeed = 0x9E3779B97F4A7C15ULL;
inline constexpr double kRate = 3.99;
inline constexpr int kLanes = 32;

// The answer after so many steps of both.
std::uint64_t KnownAnswer(std::uint32_t steps);

}  // namespace glim::validate
