// A small seeded generator (SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
// The same seed gives the same numbers on every machine and library, which <random>'s distributions do not promise.
#pragma once

#include <cstdint>

#include "sdk/base/check.h"

namespace glim {

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

  // Uniform in [low, high], both included.
  std::int64_t Between(std::int64_t low, std::int64_t high) {
    GLIM_CHECK(low <= high, "empty range");
    return low + static_cast<std::int64_t>(Next() % static_cast<std::uint64_t>(high - low + 1));
  }

  // True once in `n` calls on average.
  bool OneIn(std::int64_t n) { return Between(1, n) == 1; }

 private:
  std::uint64_t state_;
};

}  // namespace glim
