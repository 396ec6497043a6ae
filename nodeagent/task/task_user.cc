#include "nodeagent/task/task_user.h"

#include <unistd.h>

#include <cerrno>

#include "sdk/io/io_error.h"

namespace glim::nodeagent {

Status GiveToUser(const std::optional<TaskUser>& user, const std::string& path) {
  if (!user || ::lchown(path.c_str(), user->uid, user->gid) == 0) return Status::Ok();
  return FileError("give the task's user", path, errno);
}

}  // namespace glim::nodeagent
