// GPUs, by NVML: each five seconds what they have, and whether they compute.
#pragma once

#include "nodeagent/programs/health/health_options.h"
#include "nodeagent/programs/health/source_thread.h"

namespace glim::nodeagent::health {

Source GpuSource(const HealthOptions& options);

}  // namespace glim::nodeagent::health
