// The kernels behind Reduce, one entry and one source for each family of types. Each chooses its SIMD target at run
// time.
//
// Sources: float.cc, float16.cc, float8.cc, integer.cc, copy.cc
#pragma once

#include <cstddef>
#include <cstdint>

#include "sdk/hfreduce/kernels/reduce_args.h"

namespace glim::hfreduce {

struct KernelCall {
  ReduceArgs args;
  std::uint8_t* destination = nullptr;
  const std::uint8_t* const* sources = nullptr;
  std::size_t source_count = 0;
  std::size_t bytes = 0;  // of the destination
};

void ReduceFloat(const KernelCall& call);    // fp32, fp64
void ReduceFloat16(const KernelCall& call);  // fp16, bf16
void ReduceFloat8(const KernelCall& call);
void ReduceInteger(const KernelCall& call);
void StreamCopy(const KernelCall& call);  // of the first source, past the caches

}  // namespace glim::hfreduce
