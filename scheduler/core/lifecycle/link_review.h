// An operator has changed how many jobs a link between zones carries.
#pragma once

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// Those that hold all their nodes and wait for a link begin where it carries more now. Where it carries fewer, whoever
// would wait for jobs that do not leave it gives up its claims: its nodes would stand idle for as long as these run.
void ReviewLinks(Changes& changes);

}  // namespace glim::core
