// The agent's half of a task's environment (sdk/task_environment has the table, the scheduler the other half).
#pragma once

#include <cstdint>
#include <string>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/core/reconcile.h"
#include "nodeagent/options/agent_options.h"
#include "sdk/base/result.h"
#include "sdk/task_environment/task_environment.h"

namespace glim::nodeagent {

// What a task gets to see of the agent's own environment: PATH, HOME, USER, LANG, LC_ALL, TZ, and nothing else. With it
// come GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME, the interface of this node that has `address`, so that ranks meet
// where the node is reached and not where its host name happens to lead; nothing for a loopback or unknown address.
TaskVariables BaseVariables(const std::string& address);

// Where a task starts whose job names no workdir.
std::string HomeOf(const AgentOptions& options, const TaskVariables& base);

// What all ranks of the task have: `base`, then the order's, then the node's own. The SDK's folders are the last of
// PYTHONPATH and PATH: what is the job's own comes first. Without an SDK only glim-task's folder, the shim's.
// FAILED_PRECONDITION when the SDK has gone since the agent's start.
Result<TaskVariables> PlanVariables(const AgentOptions& options, const TaskVariables& base, const TaskKey& key,
                                    const std::string& task_folder, const v1::TaskLaunch& launch,
                                    const std::string& workdir);

// What one rank has beside.
TaskVariables RankVariables(const v1::TaskLaunch& launch, std::uint32_t local_rank);

}  // namespace glim::nodeagent
