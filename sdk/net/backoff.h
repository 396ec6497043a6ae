// How long to wait before another try: each wait is twice the one before, up to a limit.
#pragma once

#include <algorithm>
#include <utility>

#include "sdk/base/time.h"

namespace glim::net {

// A value. One caller at a time.
class Backoff {
 public:
  Backoff(Duration first, Duration most) : next_(first), most_(most) {}

  Duration Next() { return std::exchange(next_, std::min(next_ * 2, most_)); }

 private:
  Duration next_;
  Duration most_;
};

}  // namespace glim::net
