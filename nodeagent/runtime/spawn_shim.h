// Starts glim-shim for one task.
#pragma once

#include <string>

#include "nodeagent/task/task_files.h"
#include "sdk/base/result.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {

// Takes the lock that says "a shim of this task lives or is being born". The shim inherits it, so that it is held
// from before the shim's first instruction to its end; an agent that starts anew can tell "never started" from
// "starting right now". ALREADY_EXISTS when it is held.
Result<UniqueFd> LockShimFile(const std::string& path);
bool ShimFileIsLocked(const std::string& path);

// The pid of a child that exits with 0 as soon as the shim's identity is written, and otherwise with the reason in
// the shim's log. The caller reaps it.
Result<pid_t> SpawnShim(const std::string& shim, const TaskPaths& paths, int lock);

}  // namespace glim::nodeagent
