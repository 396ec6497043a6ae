// Recomputes the whole audit trail's chain, in pages between which the strand does its other work.
#pragma once

#include <functional>

#include "scheduler/server/loop/audit_chain.h"
#include "scheduler/server/loop/scheduler_loop.h"

namespace glim::server {

// Any thread. `done` is called once, on the strand, or at once with why it could not be begun; must not block.
// The loop outlives it.
void CheckAudit(SchedulerLoop* loop, std::function<void(const Result<AuditChecker>&)> done);

}  // namespace glim::server
