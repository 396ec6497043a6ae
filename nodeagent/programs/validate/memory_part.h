// How fast the CPUs of each NUMA node copy inside its memory, and whether memory keeps what is written to it.
#pragma once

#include "nodeagent/programs/validate/options.h"

namespace glim::validate {

// RESOURCE_EXHAUSTED: there is not enough memory free to look at.
Readings MeasureMemory(const Options& options);

}  // namespace glim::validate
