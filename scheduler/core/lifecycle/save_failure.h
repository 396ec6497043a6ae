// Saves that an attempt's ranks could not make: its row says so until its newest save is a good one.
#pragma once

#include <vector>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// After AdvanceProgress, which says what is durable. The first failure of an attempt is noted in the history, and no
// later one: what a program says in turns must not fill it. Once a good save has followed, the row keeps the words of
// the failure with a count of 0.
void SeeSaveFailures(Changes& changes, AttemptId attempt, const std::vector<const Task*>& tasks);

}  // namespace glim::core
