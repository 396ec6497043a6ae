// For tests: bounds of waits. A wait ends when its condition holds; the bound only says when to give up, and is chosen
// for a quiet machine. What makes it larger on this one is here and nowhere else.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "sdk/base/time.h"

namespace glim {

// How many times slower this machine is than a quiet one: the environment variable GLIM_TEST_SLOWER, at least 1.
inline double SlowerBy() {
  static const double factor = [] {
    const char* const text = std::getenv("GLIM_TEST_SLOWER");
    const double read = text ? std::strtod(text, nullptr) : 1;
    return read > 1 && std::isfinite(read) ? read : 1;
  }();
  return factor;
}

// The bound on this machine. For what a product waits as well, where a test means that it waits long enough.
template <class Rep, class Period>
std::chrono::duration<Rep, Period> Slower(std::chrono::duration<Rep, Period> bound) {
  return std::chrono::duration<Rep, Period>(
      static_cast<Rep>(std::ceil(static_cast<double>(bound.count()) * SlowerBy())));
}
inline Duration Slower(Duration bound) {
  return {static_cast<std::int64_t>(std::ceil(static_cast<double>(bound.ms) * SlowerBy()))};
}

// For what comes at once: much, as it costs nothing where it comes, and sanitized programs are slow.
inline constexpr std::chrono::milliseconds kLongWait = std::chrono::seconds(60);
inline std::chrono::milliseconds LongWait() { return Slower(kLongWait); }
inline int LongWaitMs() { return static_cast<int>(LongWait().count()); }  // as poll(2) wants it
inline Duration LongWaitDuration() { return {LongWait().count()}; }

// Looks until the condition holds, for what gives no sign of its own; false: it did not within the bound.
template <class Condition>
bool Eventually(const Condition& condition, std::chrono::milliseconds bound = kLongWait) {
  const auto end = std::chrono::steady_clock::now() + Slower(bound);
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= end) return condition();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace glim
