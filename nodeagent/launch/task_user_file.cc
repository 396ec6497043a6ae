#include "nodeagent/launch/task_user_file.h"

#include <unistd.h>

#include <cerrno>

#include "sdk/io/io_error.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {

Status WriteForTask(const AgentOptions& options, const std::string& path, std::string_view bytes) {
  if (Status status = WriteFileAtomically(path, bytes, Durability::kProcess); !status.ok()) return status;
  if (!options.in_containers()) return Status::Ok();
  if (::lchown(path.c_str(), options.task_user.uid, options.task_user.gid) == 0) return Status::Ok();
  return FileError("give the task's user", path, errno);
}

}  // namespace glim::nodeagent
