// Small files in a task's run folder, for the task's user alone: who its gang is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "nodeagent/task/task_user.h"
#include "sdk/base/status.h"

namespace glim::nodeagent {

// Replaces `path`, mode 0600. `user`: LaunchSpec.user.
Status WriteForTask(const std::optional<TaskUser>& user, const std::string& path, std::string_view bytes);

}  // namespace glim::nodeagent
