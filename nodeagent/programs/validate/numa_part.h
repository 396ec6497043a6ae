// How fast the CPUs of each NUMA node read the memory of each.
#pragma once

#include "nodeagent/programs/validate/options.h"

namespace glim::validate {

Readings MeasureNuma(const Options& options);

}  // namespace glim::validate
