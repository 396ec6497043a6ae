// Gives up what glim-health does not need: it reads files of the kernel's that may be wrong, and a driver's library.
#pragma once

#include <initializer_list>

#include "sdk/base/status.h"

namespace glim::nodeagent::health {

// No new rights by any program; of root's capabilities those of `keep` alone; behind the tasks where processors are
// scarce; ends with the process that started it. Before any thread.
Status LeavePrivileges(std::initializer_list<unsigned> keep);

}  // namespace glim::nodeagent::health
