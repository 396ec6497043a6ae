// Whom tasks run as, as far as the operator says it: --task-user and --any-user.
#pragma once

#include <optional>
#include <string>

#include "nodeagent/task/task_user.h"
#include "sdk/base/status.h"

namespace glim::nodeagent {

// What is wrong with it for a task; empty: nothing. A task is never root, nor in root's group.
std::string WhyNoTaskUser(const TaskUser& user);

// What the operator says; `user` is filled in from `text`, in which a name is looked up on this node.
struct UserOptions {
  bool in_containers = false;
  bool any_user = false;
  std::string text;  // --task-user
};
Status CompleteUsers(const UserOptions& said, std::optional<TaskUser>* user);

}  // namespace glim::nodeagent
