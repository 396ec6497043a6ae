// Boot time: does not jump, and goes on through the agent's restarts.
#pragma once

#include "sdk/base/time.h"

namespace glim::nodeagent {

// Never 0, which means "not yet".
TimePoint BootNow();

}  // namespace glim::nodeagent
