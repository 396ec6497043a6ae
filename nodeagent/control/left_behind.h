// What a task's ranks have left running (docs/decisions/0008-what-is-left-behind-is-stopped.md).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace glim::nodeagent {

// What ran of a task when the last of its ranks had ended and it was stopped.
struct LeftBehind {
  std::uint32_t count = 0;
  std::string names;  // of a few
};

// Of these, which are there when the last rank has ended and the task is stopped.
LeftBehind NameProcesses(const std::vector<pid_t>& pids);

}  // namespace glim::nodeagent
