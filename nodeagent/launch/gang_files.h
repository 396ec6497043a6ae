// What lies beside a task's socket, where the task itself makes nothing.
#pragma once

#include <optional>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/task/task_files.h"
#include "nodeagent/task/task_user.h"
#include "sdk/base/status.h"

namespace glim::nodeagent {

// GLIM_HOSTS_FILE and GLIM_ZONES_FILE: who the task's gang is, a line for each node, by node rank. A gang of thousands
// of nodes does not fit into a variable. From the order's lists, or from its variables where those hold them.
Status WriteGangFiles(const std::optional<TaskUser>& user, const v1::TaskLaunch& launch, const TaskPaths& paths);

// An empty file for each rank: the calls of glim-task of one rank lock it in turns.
Status WriteTurnFiles(const std::optional<TaskUser>& user, const v1::TaskLaunch& launch, const TaskPaths& paths);

}  // namespace glim::nodeagent
