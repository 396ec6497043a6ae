// Whom tasks run as, as far as the operator says it: --task-user and --any-user.
#pragma once

#include <string>

#include "nodeagent/options/agent_options.h"
#include "nodeagent/task/task_user.h"
#include "sdk/base/status.h"

namespace glim::nodeagent {

// What is wrong with it for a task; empty: nothing. A task is never root, nor in root's group.
std::string WhyNoTaskUser(const TaskUser& user);

// Fills in task_user; a name is looked up on this node. `runtime` is completed.
Status CompleteUsers(AgentOptions* options);

}  // namespace glim::nodeagent
