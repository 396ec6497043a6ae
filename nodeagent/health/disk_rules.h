// Disks and what is mounted from them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nodeagent/health/finding.h"

namespace glim::nodeagent::health {

inline constexpr std::int64_t kFreePercentLeast = 2;
inline constexpr std::int64_t kWriteMsMost = 5000;
inline constexpr std::int64_t kWriteTimesMost = 20;      // the median of the last day
inline constexpr std::int64_t kWriteMsUnremarked = 500;  // whatever the median is
inline constexpr std::size_t kWritesOfADay = 144;        // one in ten minutes
inline constexpr std::size_t kWritesForAMedian = 12;

// The text of /proc/mounts: the condition disk_read_only of what a disk (/dev/...) has mounted that was writable since
// the boot and is no more. Not of a disk that is writable at another folder: somebody made that one mount read-only.
Looks LookAtMounts(std::string_view mounts, Memory& memory);

// The condition disk_full_soon.
Looks LookAtRoom(const std::string& folder, std::int64_t free_bytes, std::int64_t all_bytes);

// How long small writes to a folder take: the condition disk_slow.
class WriteTimes {
 public:
  // `ms` until it was on the disk, or until nobody waited any longer.
  void Add(std::int64_t ms);
  bool slow() const { return slow_; }
  Looks Conditions(const std::string& folder) const;

 private:
  std::vector<std::int64_t> last_;  // at most kWritesOfADay
  std::int64_t median_ = 0;         // before the newest; 0: unknown
  bool slow_ = false;
};

}  // namespace glim::nodeagent::health
