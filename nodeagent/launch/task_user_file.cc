#include "nodeagent/launch/task_user_file.h"

#include "sdk/io/write_file.h"

namespace glim::nodeagent {

Status WriteForTask(const std::optional<TaskUser>& user, const std::string& path, std::string_view bytes) {
  if (Status status = WriteFileAtomically(path, bytes, Durability::kProcess); !status.ok()) return status;
  return GiveToUser(user, path);
}

}  // namespace glim::nodeagent
