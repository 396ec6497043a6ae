#include "scheduler/server/loop/clock.h"

#include <chrono>

namespace glim::server {

Clock MonotonicWallClock() {
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  const auto wall = duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  const auto begin = std::chrono::steady_clock::now();
  return [wall, begin] {
    return TimePoint{wall + duration_cast<milliseconds>(std::chrono::steady_clock::now() - begin).count()};
  };
}

}  // namespace glim::server
