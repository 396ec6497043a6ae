// An allreduce between processes of this node, by the library that jobs use, with a sum that is known.
#pragma once

#include "nodeagent/programs/validate/options.h"

namespace glim::validate {

// Forks: the process has one thread. Errors: of a process that could not take part, in its words.
Readings MeasureAllreduce(const Options& options);

}  // namespace glim::validate
