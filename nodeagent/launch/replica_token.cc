#include "nodeagent/launch/replica_token.h"

#include <unistd.h>

#include <cerrno>
#include <string>

#include "sdk/checkpoint/replica/token.h"
#include "sdk/io/io_error.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {

Status WriteReplicaToken(const AgentOptions& options, const TaskKey& key, const TaskPaths& paths) {
  if (options.replica_secret.empty()) return Status::Ok();
  const std::string path = paths.replica_token();
  const std::string token = checkpoint::JobToken(options.replica_secret, std::to_string(key.job));
  if (Status status = WriteFileAtomically(path, token, Durability::kProcess); !status.ok()) return status;
  // Plain processes are the agent's own user.
  if (options.runtime != "runc") return Status::Ok();
  if (::lchown(path.c_str(), options.task_user.uid, options.task_user.gid) == 0) return Status::Ok();
  return FileError("give the task's user", path, errno);
}

}  // namespace glim::nodeagent
