#include "nodeagent/launch/replica_token.h"

#include <string>

#include "nodeagent/launch/task_user_file.h"
#include "sdk/checkpoint/replica/token.h"

namespace glim::nodeagent {

Status WriteReplicaToken(const AgentOptions& options, const TaskKey& key, const TaskPaths& paths) {
  if (options.replica_secret.empty()) return Status::Ok();
  const std::string token = checkpoint::JobToken(options.replica_secret, std::to_string(key.job));
  return WriteForTask(options, paths.replica_token(), token);
}

}  // namespace glim::nodeagent
