// Where things of jobs lie on this node.
#pragma once

#include <cstdint>
#include <string>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/core/reconcile.h"
#include "nodeagent/options/agent_options.h"

namespace glim::nodeagent {

// The job's checkpoint folder: the order's, or the agent's own for the job.
std::string CheckpointFolder(const AgentOptions& options, const TaskKey& key, const v1::TaskLaunch& launch);
// Of the save that the launch goes on from, in the agent's own folder for the job.
std::string BasePath(const std::string& checkpoint_folder, const v1::BaseSave& base);
// Sets `local` of each reported save that lies below `own_folder`, the job's checkpoint folder on this node.
void SetLocalPaths(const std::string& own_folder, v1::ObservedTask* task);

// Of this node's images (nodeagent/images/image_folder.h).
std::string ImageFolderOf(const AgentOptions& options);
std::string LogFolder(const AgentOptions& options, std::uint64_t job, std::uint32_t attempt);
// The highest job number that the state folder holds logs, checkpoints or a task of; 0: none.
std::uint64_t HighestJob(const std::string& state_dir);

}  // namespace glim::nodeagent
