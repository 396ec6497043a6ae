// Whom this leader judges by what its nodes tell of it: what the watchdog and idle_gpus.h have in common. Pure.
#pragma once

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/watched.h"

namespace glim::core {

// From when on an agent counts as away, as in silence.cc.
Duration AwayFrom(const Policy& policy);

// It simply runs: nobody has asked anything of it.
bool MayBeJudged(const ClusterState& state, const Attempt& attempt);

// Until then it is no wonder that it is silent: it goes on from a save, and has not said that it got it. 0: it has.
TimePoint RestoreBy(const Changes& changes, const Attempt& attempt);

bool AllNodesAreHeard(const Changes& changes, const Attempt& attempt);

// When it is to be warned for its idle GPUs, or suspended (idle_gpus.h); 0: neither.
TimePoint GpusDue(const Changes& changes, const Attempt& attempt, const Watched& watched);
// When an attempt that is watched is looked at for that: not now; 0: never.
TimePoint NextGpuLook(const Changes& changes, AttemptId attempt);

// When it is looked at next: never, for 0, unless its GPUs ask for it.
void LookAt(Changes& changes, AttemptId attempt, TimePoint due);
// It is looked at then, if not before. To be looked at too early does nothing.
void LookNoLater(Changes& changes, AttemptId attempt, TimePoint due);

}  // namespace glim::core
