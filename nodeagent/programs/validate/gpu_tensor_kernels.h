// The kernel of gpu_kernels.h that not every card can have. Pure.
#pragma once

namespace glim::validate {

// For cards with tensor cores for bfloat16, from Ampere (capability 8) on.
//
// glim_multiply_bf16(u64 a, u64 b, u64 c, u32 n, u32 repeat)
//   n/128 by n/64 blocks. c[i][j] in single precision is `repeat` times the sum over k of a[i][k] * b[j][k], for
//   matrices of bfloat16. The order of the sum is the card's own: the caller takes small whole numbers, whose sums are
//   exact in any order.
extern const char* const kGpuTensorKernels;

}  // namespace glim::validate
