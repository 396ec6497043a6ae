// Bounds that all stores share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace glim::store {

inline constexpr std::size_t kPruneMax = 5'000;       // history entries, and ended jobs, deleted by one call
inline constexpr std::size_t kHistoryMax = 10'000;    // history entries or ended jobs returned by one call
inline constexpr std::size_t kLogTailPruneMax = 200;  // ends of logs deleted by one call, for each reason
// What a history entry takes beside its text and its facts: numbers, the kind's word, places in indices.
inline constexpr std::int64_t kHistoryRowBytes = 160;
inline constexpr std::int64_t kHistorySample = 1'000;  // entries that are looked at for their mean size

struct HistoryBounds {
  std::size_t entries_max = 0;
  std::size_t ended_jobs_max = 0;
  // Of the entries, by the mean size of kHistorySample of them, evenly apart.
  std::int64_t bytes_max = std::numeric_limits<std::int64_t>::max();

  // How many entries both bounds leave, if they have so many bytes of text and facts in the mean.
  std::int64_t EntriesLeft(std::int64_t mean_bytes) const {
    return std::min(static_cast<std::int64_t>(entries_max), bytes_max / (mean_bytes + kHistoryRowBytes));
  }
};

}  // namespace glim::store
