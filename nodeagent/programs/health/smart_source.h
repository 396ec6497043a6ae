// What disks say of themselves (SMART): each disk of ROOT/sys/block that is hardware and stays in the machine is asked
// some minutes after the start, when it is new, and once a day.
#pragma once

#include "nodeagent/programs/health/health_options.h"
#include "nodeagent/programs/health/smart_helper.h"
#include "nodeagent/programs/health/source_thread.h"

namespace glim::nodeagent::health {

Source SmartSource(const HealthOptions& options, SmartHelper helper);

}  // namespace glim::nodeagent::health
