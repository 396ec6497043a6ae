// Network ports, from ROOT/sys/class/infiniband and ROOT/sys/class/net: each second.
#pragma once

#include <string>

#include "nodeagent/programs/health/health_options.h"
#include "nodeagent/programs/health/source_thread.h"

namespace glim::nodeagent::health {

Source PortSource(const HealthOptions& options);

}  // namespace glim::nodeagent::health
