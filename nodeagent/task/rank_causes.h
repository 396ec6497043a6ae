// Why each rank of a task failed, read from its log once the shim has noted its exit: by then the shim has written down
// all that the rank wrote.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "nodeagent/task/task_files.h"

namespace glim::nodeagent {

// By rank; only of ranks that ended with a code that is not 0.
using RankCauses = std::map<std::uint32_t, std::string>;

// Adds those that are not in it yet. Reads kCauseTailBytes of a log at most for each.
void AddCauses(const LaunchSpec& spec, const TaskStatus& status, RankCauses* causes);

}  // namespace glim::nodeagent
