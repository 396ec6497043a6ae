// Each hardware thread in turn computes what is known, again and again: a wrong answer names it, and so does the median
// of its times. Rounds go over all threads, so that what disturbs the node for a moment disturbs all alike.
#pragma once

#include "nodeagent/programs/validate/options.h"

namespace glim::validate {

// UNAVAILABLE: this process may run on no CPU.
Readings MeasureCpu(const Options& options);

}  // namespace glim::validate
