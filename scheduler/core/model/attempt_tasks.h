// The tasks of an attempt.
#pragma once

#include <vector>

#include "scheduler/core/model/cluster_state.h"

namespace glim::core {

// Ascending by index. Valid until one of them is written.
std::vector<const Task*> TasksOf(const ClusterState& state, AttemptId attempt);
// Whether its exit code says how it ended: it has, it ran, and its node knows how its ranks went.
bool ExitIsKnown(const Task& task);
// Of its rank that is farthest behind; -1: it has told of none.
std::int64_t LeastStep(const Task& task);

}  // namespace glim::core
