// Element-wise reduction of several arrays into one, with SIMD chosen at run time (Google Highway).
#pragma once

#include <cstddef>
#include <span>

#include "sdk/hfreduce/kernels/reduce_args.h"

namespace glim::hfreduce {

// destination[i] = op(sources[0][i], sources[1][i], ...), evaluated from left to right, for i < count. One source is a
// copy (divided, if asked). Sums, averages and products of 16- and 8-bit types accumulate in fp32 and are rounded once,
// to nearest even; fp8_e4m3 saturates at 448 and fp8_e5m2 goes to infinity. Min and max give NaN where any source is
// NaN, and take -0 for less than +0. A result that is NaN is always the same one, quiet and positive (a copy keeps its
// bits). Integer sums and products wrap around. No alignment is asked for. The destination may be one of the sources,
// and must not overlap one otherwise. At most kSourcesMax sources, at least one.
// The bits depend on the arguments alone: not on the SIMD target, the alignment, where a range is cut or how the
// calling thread rounds. (fp32 and fp64 sums are plain additions in the given order; no fused multiply.)
// Thread-safe.
void Reduce(const ReduceArgs& args, void* destination, std::span<const void* const> sources, std::size_t count);

// What runs on this processor, by Highway's names: "AVX3_DL" (Ice Lake, Zen 4 and later), "AVX3", "AVX2", "NEON",
// "SCALAR".
const char* SimdTarget();

}  // namespace glim::hfreduce
