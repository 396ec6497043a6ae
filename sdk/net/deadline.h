// A point in time until which something is waited for.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "sdk/base/time.h"

namespace glim::net {

// A value, on the steady clock.
class Deadline {
 public:
  explicit Deadline(Duration from_now)
      : at_(std::chrono::steady_clock::now() + std::chrono::milliseconds(from_now.ms)) {}

  bool Passed() const { return std::chrono::steady_clock::now() >= at_; }
  // Rounded up, so that a wait for it does not end just before; never negative.
  Duration Remaining() const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - std::chrono::steady_clock::now());
    return Milliseconds(std::max<std::int64_t>(0, left.count()));
  }
  // For poll: at most `cap`.
  int PollTimeout(Duration cap) const { return static_cast<int>(std::min(Remaining(), cap).ms); }

 private:
  std::chrono::steady_clock::time_point at_;
};

}  // namespace glim::net
