// When a message that did not arrive is sent again, and until when. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sdk/base/time.h"

namespace glim::notify {

struct Retry {
  Duration first = Seconds(1);
  Duration most = Minutes(10);
  Duration patience = Hours(24);  // since it happened
  int refusals_max = 12;          // answers that say no (4xx): they are not likely to change
};

// After `failures` tries, at least one: doubled each time, and of that a random half, for receivers that all come back
// at once. `unit` is random in [0, 1).
inline Duration RetryAfter(const Retry& retry, int failures, double unit) {
  const Duration whole = std::min(retry.most, retry.first * (std::int64_t{1} << std::min(failures - 1, 20)));
  return Duration{whole.ms / 2 + static_cast<std::int64_t>(unit * static_cast<double>(whole.ms - whole.ms / 2))};
}

}  // namespace glim::notify
