// A job that is interrupted ten times a day for months must not keep every attempt in the hot state.
#pragma once

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// A job has got a new attempt: of those before it the newest kAttemptsKept stay as rows, and of these the tasks only
// where they may still be asked about, which is of attempts in a row that could not start (start_verdict.h) or not
// go on from their save (restore_verdict.h). What the rest had adds up in Job::earlier.
void ForgetOldAttempts(Changes& changes, JobId job);

}  // namespace glim::core
