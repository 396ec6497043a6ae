// Whose rights a launched task has. Pure.
#pragma once

#include <optional>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/options/agent_options.h"
#include "nodeagent/task/task_user.h"
#include "sdk/base/result.h"

namespace glim::nodeagent {

// In containers the order's user, or the operator's for those whom the registry gives no uid; among plain processes
// none: the agent's own. INVALID_ARGUMENT: no node may run a task as this user. FAILED_PRECONDITION: this one cannot.
Result<std::optional<TaskUser>> UserOf(const AgentOptions& options, const v1::TaskLaunch& launch);

}  // namespace glim::nodeagent
