// What an attempt goes on from, as its ranks say, may be an earlier step than that of the save that they were given: it
// is damaged, and the program has found an older one by itself.
#pragma once

#include <vector>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// If so, the attempt's base is that step from now on: the steps between are lost, and any later save of the attempt is
// the job's newest. Until there is one, the job's newest save stays the one that was given, unless an older one is
// known to be of that step. Believed once every rank has said what it went on from, or the attempt moves on.
void SeeRestored(Changes& changes, AttemptId attempt, const std::vector<const Task*>& tasks);

}  // namespace glim::core
