// Bounds: how much callers may take of the scheduler, as data (docs/operations/scheduler-configuration.md, Limits).
// Values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace glim::server {

// What is bounded. All but the rates, kRequests and kChanges, are held for a while and given back.
enum class Bound : std::uint8_t {
  kRequests,      // calls and streams that begin, a second; five seconds' worth may come at once
  kCalls,         // calls that are not over: they wait, or their answers have not been taken
  kStreams,       // logs and events that are being read
  kReads,         // questions to the store: `glim history`
  kBytes,         // of requests that wait and answers that have not been taken
  kAgentStreams,  // of agents
  kAgentHellos,   // agents' streams on which nobody has said hello yet
  kChanges,       // bytes a second that calls may have the store keep: rows, history, the audit trail
};
inline constexpr std::size_t kBounds = 8;
inline constexpr bool IsRate(Bound bound) { return bound == Bound::kRequests || bound == Bound::kChanges; }
// So many seconds' worth of a rate may come at once.
inline constexpr std::int64_t BurstSeconds(Bound bound) { return bound == Bound::kChanges ? 128 : 5; }

using BoundNumbers = std::array<std::uint64_t, kBounds>;

// Whose they are; looked at in this order. A peer is an address without its port.
enum class BoundOf : std::uint8_t { kUser, kPeer, kAll };
inline constexpr std::size_t kBoundLevels = 3;

inline constexpr std::uint64_t kKib = std::uint64_t{1} << 10;
inline constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

// What bounds users does not bound agents, who have no name: those two numbers are not looked at.
struct Bounds {
  std::array<BoundNumbers, kBoundLevels> numbers = {{
      {2'000, 2'000, 64, 8, 64 * kMib, 0, 0, 256 * kKib},
      {10'000, 8'000, 512, 64, 192 * kMib, 40'000, 12'500, 4 * kMib},
      {50'000, 20'000, 1'024, 256, 512 * kMib, 50'000, 25'000, 16 * kMib},
  }};
  std::uint64_t& At(BoundOf of, Bound bound) {
    return numbers[static_cast<std::size_t>(of)][static_cast<std::size_t>(bound)];
  }
  std::uint64_t At(BoundOf of, Bound bound) const {
    return numbers[static_cast<std::size_t>(of)][static_cast<std::size_t>(bound)];
  }
};

}  // namespace glim::server
