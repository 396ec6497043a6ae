// The order to stop. docs/protocols/agent-sync.md says what an agent does with it.
#pragma once

#include <string>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// Orders every task of an attempt that has tasks to stop; nothing happens if it was ordered before. A claimed attempt
// has no tasks: see claims.h.
void StopTasks(Changes& changes, AttemptId attempt, StopCause cause, const std::string& message);

}  // namespace glim::core
