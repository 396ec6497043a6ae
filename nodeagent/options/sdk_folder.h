// The SDK that every task of a node finds: a folder with python/glim (modules and compiled parts) and bin/glim-task, as
// the build stages it (sdk/python/CMakeLists.txt).
#pragma once

#include <string>

#include "sdk/base/status.h"

namespace glim::nodeagent {

// Completes what the operator said of it, `sdk`: a folder's path without links, or empty: tasks get none. "none" says
// so; nothing said is ../share/glim/sdk beside `program_folder`, and a warning in the log where that is not there.
// INVALID_ARGUMENT for a named folder that is no SDK.
Status CompleteSdk(const std::string& program_folder, std::string* sdk);

// What of it is missing, as a path; empty: nothing.
std::string MissingInSdk(const std::string& sdk);

}  // namespace glim::nodeagent
