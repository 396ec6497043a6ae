// What falls due when time passes, and when that will next be the case.
#pragma once

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// Deadlines of agreements, starts and releases; time limits; silence; backoffs that have run out.
void ApplyTimePassed(Changes& changes);

// Silence and deadlines count from now; nothing else changes.
void ApplyOverslept(Changes& changes);

// A new leader: silence and deadlines count from now.
void ApplyLeaderStarted(Changes& changes);

// When the next deadline falls due; 0: none.
TimePoint NextWake(const ClusterState& state, const Policy& policy);

}  // namespace glim::core
