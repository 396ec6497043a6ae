// Whose rights a task has: its processes', and those of what is done for it at the paths that its job names.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "sdk/base/status.h"

namespace glim::nodeagent {

struct TaskUser {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups = {};  // beside gid

  bool operator==(const TaskUser&) const = default;
};

// A file or folder of the agent's own, and no link; nothing for none.
Status GiveToUser(const std::optional<TaskUser>& user, const std::string& path);

}  // namespace glim::nodeagent
