// How many tasks of a desired set an agent takes in: a node has one that runs, and the rest are leftovers to be
// stopped. A set with more is not refused, for what is stopped frees the node: what is known here comes first, then
// what is to be stopped, and nothing new is launched. The stops that are left out come with a later set, when the
// scheduler has heard of these. Pure.
#pragma once

#include <cstddef>
#include <functional>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/core/reconcile.h"

namespace glim::nodeagent {

// As many as a report may have.
inline constexpr std::size_t kDesiredTasksMax = 256;

// False: the set was too large, and is cut. `is_known`: the agent has the task.
bool BoundTasks(v1::DesiredState* set, const std::function<bool(const TaskKey&)>& is_known);

}  // namespace glim::nodeagent
