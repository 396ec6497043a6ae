// What a task is told of its job when it is launched: pure functions of the rows. The node's agent adds what it alone
// knows (sdk/task_environment).
#pragma once

#include <string>

#include "scheduler/core/lifecycle/desired.h"
#include "sdk/task_environment/task_environment.h"

namespace glim::core {

// The job's checkpoint folder that all nodes share; empty: each node has one of its own for the job.
std::string CheckpointDirOf(const Job& job);

// The same for all tasks of the attempt: whoever launches many of them makes it once.
GangEnvironment GangEnvironmentOf(const Tables& tables, const Attempt& attempt);

// Of a task whose job and attempt are known, on this node.
TaskEnvironment TaskEnvironmentOf(const Tables& tables, const DesiredTask& task, const Node& node);

// Everything that the scheduler tells the task: the job's own variables, but for those that are Glim's, and
// Glim's.
TaskVariables LaunchVariables(const Tables& tables, const DesiredTask& task, const Node& node,
                              const GangEnvironment& gang);

}  // namespace glim::core
