// What has been productive since the last durable save, and would be lost with a kill (ledger.h).
#pragma once

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// A durable save: nothing of the attempt is at risk any more.
void ClearAtRisk(Changes& changes, const Attempt& attempt);
// The node is about to be released: what its holder has at risk on it, booked up to now.
std::int64_t TakeAtRisk(Changes& changes, NodeId node);
// Moves that much of the node's and the job's productive time to lost.
void LoseGpuMs(Changes& changes, NodeId node, JobId job, std::int64_t gpu_ms);

}  // namespace glim::core
