// Bounds that all stores share.
#pragma once

#include <cstddef>

namespace glim::store {

inline constexpr std::size_t kPruneMax = 5'000;       // history entries, and ended jobs, deleted by one call
inline constexpr std::size_t kHistoryMax = 10'000;    // history entries or ended jobs returned by one call
inline constexpr std::size_t kLogTailPruneMax = 200;  // ends of logs deleted by one call, for each reason

}  // namespace glim::store
