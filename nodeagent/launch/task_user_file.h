// Small files in a task's run folder, for the task's user alone: the token of its replicas, who its gang is.
#pragma once

#include <string>
#include <string_view>

#include "nodeagent/options/agent_options.h"
#include "sdk/base/status.h"

namespace glim::nodeagent {

// Replaces `path`, mode 0600. Plain processes are the agent's own user, containers' the task's.
Status WriteForTask(const AgentOptions& options, const std::string& path, std::string_view bytes);

}  // namespace glim::nodeagent
