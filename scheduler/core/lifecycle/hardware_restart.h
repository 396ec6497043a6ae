// After an attempt that ended by no fault of its program: whether its job is restarted, and when.
//
// The first restart after a fault of hardware has no pause, for the node at fault is left out. From the second within
// an hour on there is one: `restart.backoff`, then twice as long each time, up to ten minutes.
#pragma once

#include <string>
#include <string_view>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// The word of `restart.on` for attempts that end so; empty: no restart answers them.
std::string_view RestartCauseOf(Outcome outcome);

struct HardwareRestart {
  std::string refused;   // why there is none, for people; empty: there is one
  TimePoint not_before;  // 0: at once
};
// Counts the failure in the job's row, and leaves out the nodes where tasks were lost.
HardwareRestart CountHardwareFailure(Changes& changes, const Attempt& ended);

}  // namespace glim::core
