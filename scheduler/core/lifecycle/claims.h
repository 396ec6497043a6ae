// An attempt that waits for nodes which are being emptied has claims on them.
#pragma once

#include <string>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// Orders every task of the attempt to stop. A claimed attempt drops its claims instead.
void StopAttempt(Changes& changes, AttemptId attempt, StopCause cause, const std::string& message);

// Gives up a claimed attempt: its nodes go on, agreements without an agreed step are withdrawn, victims beyond that are
// swap_aborted. The job's state is the caller's to set.
void DropClaims(Changes& changes, AttemptId attempt, const std::string& why);

}  // namespace glim::core
