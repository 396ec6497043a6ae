#include "nodeagent/os/boot_clock.h"

#include <time.h>

namespace glim::nodeagent {

TimePoint BootNow() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return TimePoint{now.tv_sec * 1000 + now.tv_nsec / 1'000'000 + 1};
}

}  // namespace glim::nodeagent
