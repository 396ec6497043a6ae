// Bounds that all stores share.
#pragma once

#include <cstddef>

namespace glim::store {

inline constexpr std::size_t kPruneMax = 5'000;      // history entries deleted by one call
inline constexpr std::size_t kHistoryMax = 10'000;   // history entries returned by one call, whatever was asked for

}  // namespace glim::store
