// What the kernel says of this process, under the names that every program's metrics have.
#pragma once

#include "scheduler/server/metrics/families.h"

namespace glim::server {

// What cannot be read is left out.
void AddProcessFigures(Families* families);

}  // namespace glim::server
