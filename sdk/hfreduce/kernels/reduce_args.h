// What a reduction of arrays is asked to do, without its data.
#pragma once

#include <cstddef>

#include "sdk/hfreduce/kernels/reduce_op.h"

namespace glim::hfreduce {

inline constexpr std::size_t kSourcesMax = 64;

struct ReduceArgs {
  DType type = DType::kF32;  // one that IsReducible, unless there is one source and nothing to divide by
  ReduceOp op = ReduceOp::kSum;
  // kAverage: the sum is divided by it before it is rounded to the type. 1: left as it is, which is the only value that
  // other operations take. Integers are divided towards zero.
  std::size_t divisor = 1;
  // Non-temporal stores: for a destination that nobody reads soon.
  bool stream = false;
};

}  // namespace glim::hfreduce
