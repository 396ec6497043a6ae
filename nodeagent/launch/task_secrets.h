// A task's secrets, from the scheduler's order to its processes. Their values are in memory, then on tmpfs, and never
// in a file of the state folder, in an argument or in a log:
//
//   SECRETS_DIR/TASK/secrets/NAME   one file a secret, 0400, the task's user's
//   SECRETS_DIR/TASK/api-token      of a job with `api`; ca.pem: whom to trust
//   SECRETS_DIR/TASK/replica-token  of an attempt that has copies in other nodes' memory
//   SECRETS_DIR/TASK/attempt-secret of every attempt, where the cluster has a key
//
// They go with the task; what an agent that was killed left behind goes when the next one starts. On the agent's loop.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/core/reconcile.h"
#include "nodeagent/options/agent_options.h"
#include "nodeagent/task/task_files.h"
#include "nodeagent/task/task_user.h"
#include "sdk/base/status.h"
#include "sdk/task_environment/task_environment.h"

namespace glim::nodeagent {

struct TaskSecrets {
  std::map<std::string, std::string> values;  // by name
  std::string api_token;
  std::string replica_token;   // empty: the attempt goes without copies
  std::string attempt_secret;  // empty: the cluster has no key
};
using SecretsByTask = std::map<TaskKey, TaskSecrets>;

// Takes the values out of the set. Names stay: what is left may be kept on a disk.
SecretsByTask TakeSecrets(v1::DesiredState* set);

// Whether the launch is of no use without values, which a kept order does not have.
bool NeedsSecrets(const v1::TaskLaunch& launch);

// INVALID_ARGUMENT: no node could start the task with these. FAILED_PRECONDITION: a value is missing, or this node has
// no tmpfs.
Status CheckSecrets(const AgentOptions& options, const v1::TaskLaunch& launch, const TaskSecrets& secrets);

// What the shim is told: where they are, and which are variables. Nothing where the task has none.
void PlanSecrets(const AgentOptions& options, const TaskKey& key, const v1::TaskLaunch& launch, LaunchSpec* spec);
// And the task's processes: where they see them.
void TellSecrets(const AgentOptions& options, const TaskKey& key, const v1::TaskLaunch& launch, NodeEnvironment* node);

// Makes the task's folder, with nothing in it but these. CheckSecrets has passed. `user`: LaunchSpec.user.
Status WriteSecrets(const AgentOptions& options, const TaskKey& key, const std::optional<TaskUser>& user,
                    const v1::TaskLaunch& launch, const TaskSecrets& secrets);
// All of it, if there is any.
void RemoveSecrets(const AgentOptions& options, const TaskKey& key);
// What belongs to none of `tasks`.
void SweepSecrets(const AgentOptions& options, const std::set<TaskKey>& tasks);

}  // namespace glim::nodeagent
