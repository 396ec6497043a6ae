// Attempts that reach their jobs' time limits (model/time_limit.h) are asked to leave.
#pragma once

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// Asks whose limit is due. Part of ApplyTimePassed.
void JudgeTimeLimits(Changes& changes);
// When somebody is to be asked next; 0: nobody.
TimePoint NextTimeLimit(const ClusterState& state, const Policy& policy);

}  // namespace glim::core
