// Errors of memory modules, as EDAC counts them in ROOT/sys/devices/system/edac/mc: each two seconds.
#pragma once

#include "nodeagent/programs/health/health_options.h"
#include "nodeagent/programs/health/source_thread.h"

namespace glim::nodeagent::health {

Source MemorySource(const HealthOptions& options);
// Whether this node counts them.
bool CountsMemoryErrors(const HealthOptions& options);

}  // namespace glim::nodeagent::health
