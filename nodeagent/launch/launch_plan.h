// From the scheduler's launch order to what the shim runs. Pure but for what is handed in.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/core/reconcile.h"
#include "nodeagent/launch/agent_options.h"
#include "nodeagent/task/task_files.h"
#include "sdk/base/result.h"

namespace glim::nodeagent {

// What a task gets to see of the agent's own environment: PATH, HOME, USER, LANG, LC_ALL, TZ, and nothing else. With it
// come GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME, the interface of this node that has `address`, so that ranks meet
// where the node is reached and not where its host name happens to lead; nothing for a loopback or unknown address.
std::map<std::string, std::string> BaseEnvironment(const std::string& address);

// The folder that GLIM_CHECKPOINT_DIR names: the order's, or the agent's own for the job.
std::string CheckpointFolder(const AgentOptions& options, const TaskKey& key, const v1::TaskLaunch& launch);
// The highest job number that the state folder holds logs, checkpoints or a task of; 0: none.
std::uint64_t HighestJob(const std::string& state_dir);
std::string LogFolder(const AgentOptions& options, std::uint64_t job, std::uint32_t attempt);

// INVALID_ARGUMENT with the field when the order cannot be carried out; that is a failed start, not a broken agent.
Result<LaunchSpec> PlanLaunch(const AgentOptions& options, const std::map<std::string, std::string>& base,
                              const TaskKey& key, const std::string& task_folder, const v1::TaskLaunch& launch);

}  // namespace glim::nodeagent
