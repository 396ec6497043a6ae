// PCIe links of GPUs and network cards (ROOT/sys/bus/pci/devices), and how often processors are slowed down for their
// heat (ROOT/sys/devices/system/cpu): each minute.
#pragma once

#include "nodeagent/programs/health/health_options.h"
#include "nodeagent/programs/health/source_thread.h"

namespace glim::nodeagent::health {

Source CardSource(const HealthOptions& options);

}  // namespace glim::nodeagent::health
