// Disks: what is mounted (ROOT/proc/mounts) and how full it is, each ten seconds; and how long a small write takes,
// each ten minutes.
#pragma once

#include "nodeagent/programs/health/health_options.h"
#include "nodeagent/programs/health/source_thread.h"

namespace glim::nodeagent::health {

Source DiskSource(const HealthOptions& options);
Source WriteSource(const HealthOptions& options);

}  // namespace glim::nodeagent::health
