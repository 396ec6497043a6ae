// Whose a job was whose row is gone: its first event in the history tells, and of which team, as long as that is kept.
// After that only operators see what is left of it.
#pragma once

#include "scheduler/server/door/caller.h"
#include "scheduler/store/contract/store.h"

namespace glim::server {

// On the thread that owns the store; one read of one row, and none for operators.
bool MaySeeForgotten(const Caller& caller, core::JobId job, store::Store& store);

}  // namespace glim::server
