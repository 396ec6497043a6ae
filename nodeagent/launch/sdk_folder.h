// The SDK that every task of a node finds: a folder with python/glim (modules and compiled parts) and bin/glim-task, as
// the build stages it (sdk/python/CMakeLists.txt). Called on the agent's start and at each launch.
#pragma once

#include <map>
#include <string>

#include "nodeagent/launch/agent_options.h"
#include "sdk/base/status.h"

namespace glim::nodeagent {

// Fills in and checks `sdk` of the options: a folder's path without links, or empty: tasks get none. "none" says so;
// nothing said is ../share/glim/sdk beside `program_folder`, and a warning in the log where that is not there.
// INVALID_ARGUMENT for a named folder that is no SDK.
Status CompleteSdk(const std::string& program_folder, AgentOptions* options);

// Adds GLIM_SDK, and the SDK's folders as the last of PYTHONPATH and PATH: what is the job's own comes first. Without
// an SDK only glim-task's folder, the shim's. FAILED_PRECONDITION when the folder has gone since the agent's start.
Status AddSdk(const AgentOptions& options, std::map<std::string, std::string>* env);

}  // namespace glim::nodeagent
