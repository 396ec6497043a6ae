// The kernel's log, record by record: what is new in it, what is missing, and each fault once. Pure: time is handed in,
// in milliseconds by a clock that does not jump.
//
// A fault often has many lines. Those of the same check, device and code that come within a window of the first are one
// finding, whose value counts the lines; it is told kHoldMs after the first, with as many as came by then.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "nodeagent/health/finding.h"

namespace glim::nodeagent::health {

inline constexpr std::int64_t kHoldMs = 100;
inline constexpr std::int64_t kXidWindowMs = 1000;
inline constexpr std::int64_t kWindowMs = 60'000;  // of all else: a disk that fails has lines without end

class KernelReader {
 public:
  struct Begin {
    std::optional<std::uint64_t> after = {};  // the last record that was read before; nothing: none was
    std::int64_t oldest_usec = 0;             // without `after`: what is older is not told
    bool numbered = true;                     // false: a pipe, whose records come once whatever their numbers are
    bool memory_counters = false;  // the node counts memory errors, so the lines about them are not told, too
  };
  explicit KernelReader(Begin begin);

  void Read(std::string_view record, std::int64_t now_ms);
  // What is to be told by now.
  std::vector<Finding> Due(std::int64_t now_ms);
  // When the next finding is due; nothing: none is held.
  std::optional<std::int64_t> NextDue() const;
  // The last record that nobody needs to read again; nothing: none was read, or one is held.
  std::optional<std::uint64_t> position() const;

 private:
  using Key = std::tuple<std::string, std::string, std::int64_t>;
  struct Seen {
    Finding finding;
    std::int64_t first_ms = 0;
    bool told = false;
  };

  void NoteGap(std::uint64_t seq, std::int64_t now_ms);
  void Hold(Finding finding, std::int64_t now_ms);

  const Begin begin_;
  std::optional<std::uint64_t> last_;
  std::map<Key, Seen> seen_;
};

}  // namespace glim::nodeagent::health
