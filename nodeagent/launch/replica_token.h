// A job's token for replicas (sdk/checkpoint/replica/token.h), put where its task finds it.
#pragma once

#include "nodeagent/core/reconcile.h"
#include "nodeagent/options/agent_options.h"
#include "nodeagent/task/task_files.h"
#include "sdk/base/status.h"

namespace glim::nodeagent {

// Writes TaskPaths::replica_token(), readable by the task's user alone; nothing without a secret. Before the task
// starts: from then on its folder is the task's, and what lies in it may be a link.
Status WriteReplicaToken(const AgentOptions& options, const TaskKey& key, const TaskPaths& paths);

}  // namespace glim::nodeagent
