// Where the latency path stops being the quicker one: both ways over a range of sizes, in turn.
#pragma once

#include <string>

#include "sdk/base/result.h"
#include "tests/bench/hfreduce/bench_setup.h"

namespace glim::hfreduce::bench {

// Of AllReduces of 1 KiB to 1 MiB with this setup but for its bytes. One JSON line: times of both ways by size, and
// switch_bytes, the largest size up to which the latency path was never slower by more than a twentieth (0: none).
// Errors as Run's.
Result<std::string> MeasureSwitch(const Setup& setup);

}  // namespace glim::hfreduce::bench
