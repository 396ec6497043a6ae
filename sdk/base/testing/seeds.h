// For tests that play many seeds.
#pragma once

#include <cstdint>

namespace glim {

// `many`, or `few` where a sanitizer takes ten times as long for each: it looks for faults of the code, which the first
// seeds reach as well.
constexpr std::uint64_t SeedsOf([[maybe_unused]] std::uint64_t many, [[maybe_unused]] std::uint64_t few) {
#ifdef GLIM_SANITIZED
  return few;
#else
  return many;
#endif
}

}  // namespace glim
