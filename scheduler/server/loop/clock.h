// Clock: where the server's `now` comes from. Injected, so that nothing else reads a clock.
#pragma once

#include <functional>

#include "sdk/base/time.h"

namespace glim::server {

using Clock = std::function<TimePoint()>;

// The wall clock as it was when this was called, moved on by the monotonic one: a step of the wall clock must neither
// make a whole cluster look silent nor let a deadline jump. Safe from any thread.
Clock MonotonicWallClock();

}  // namespace glim::server
