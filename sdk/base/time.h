// Points in time and durations, in whole milliseconds. Time is always handed in: nothing here reads a clock.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace glim {

struct Duration {
  std::int64_t ms = 0;

  friend constexpr auto operator<=>(const Duration&, const Duration&) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return {a.ms + b.ms}; }
  friend constexpr Duration operator-(Duration a, Duration b) { return {a.ms - b.ms}; }
  friend constexpr Duration operator*(Duration a, std::int64_t k) { return {a.ms * k}; }
  friend constexpr Duration operator/(Duration a, std::int64_t k) { return {a.ms / k}; }
};

constexpr Duration Milliseconds(std::int64_t n) { return {n}; }
constexpr Duration Seconds(std::int64_t n) { return {n * 1000}; }
constexpr Duration Minutes(std::int64_t n) { return {n * 60'000}; }
constexpr Duration Hours(std::int64_t n) { return {n * 3'600'000}; }

// Milliseconds since the Unix epoch on a server; since the start of the world in a simulation. 0 means "not yet".
struct TimePoint {
  std::int64_t ms = 0;

  constexpr explicit operator bool() const { return ms != 0; }
  friend constexpr auto operator<=>(const TimePoint&, const TimePoint&) = default;
  friend constexpr TimePoint operator+(TimePoint t, Duration d) { return {t.ms + d.ms}; }
  friend constexpr TimePoint operator-(TimePoint t, Duration d) { return {t.ms - d.ms}; }
  friend constexpr Duration operator-(TimePoint a, TimePoint b) { return {a.ms - b.ms}; }
};

// The sum, or the nearest end of what 64 bits hold: for figures that somebody else wrote, such as a row of a store.
constexpr std::int64_t SaturatingSum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

}  // namespace glim
