// A run of the bench: processes, namespaces, times, the check, one line.
#pragma once

#include <string>

#include "sdk/base/result.h"
#include "tests/bench/hfreduce/bench_setup.h"

namespace glim::hfreduce::bench {

// Blocks until all ranks have ended. INVALID_ARGUMENT: the setup; else what a rank said, or that its result was wrong.
Result<std::string> Run(const Setup& setup);

}  // namespace glim::hfreduce::bench
