// Which job an operation is about, and whether this user may change it. A refusal is in the reply.
#pragma once

#include <string>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// The job if this user may change it, or has the right to change others'; else null.
const Job* JobToChange(Changes& changes, JobId id, const std::string& user, bool by_right);

// It is in a state in which it cannot be `verb` ("cancelled").
void RefuseState(Changes& changes, const Job& job, const char* verb);

}  // namespace glim::core
