// What runs on a GPU that is measured, as PTX text: the driver compiles it for the card that it finds. Pure.
//
// The contract of each kernel stands here, and gpu_kernels_contract_test.cc holds it to that: over the machine's own
// GPU where there is one, else over the library that the tests build, which executes this text.
#pragma once

namespace glim::validate {

// Where kernels say what is wrong: three words in the GPU's memory. `kNoIndex` in `first` before they run.
struct Mismatches {
  unsigned long long count = 0;
  unsigned long long first = 0;  // the lowest index
  unsigned long long bits = 0;   // all bits that were wrong somewhere
};
inline constexpr unsigned long long kNoIndex = ~0ULL;

inline constexpr unsigned kThreadsOfABlock = 256;  // of every kernel
// What the multiplied matrices repeat after, in rows and columns; their side is a power of two, and at least that.
inline constexpr unsigned kPeriod = 128;

// For all cards from Pascal on.
//
// glim_words(u64 words, u64 count, u64 result, u64 first, u32 pattern, u32 verify)
//   any number of blocks. verify 0: words[i] = WordOf(pattern, first + i) (pattern.h). Else: the words that are
//   something else are told to `result`, by their i.
// glim_multiply_f32(u64 a, u64 b, u64 c, u32 n)
//   n/64 by n/64 blocks. Row i, column j of c is the sum over k, from 0 up, of a[i][k] * b[j][k], each step one fused
//   multiply-add in single precision. Matrices lie row by row.
// glim_compare(u64 c, u64 reference, u64 result, u32 shift)
//   any number of blocks. c has 2^shift rows and columns of 32 bits; those that are not
//   reference[row mod kPeriod][column mod kPeriod] are told to `result`, by row * 2^shift + column.
extern const char* const kGpuKernels;

}  // namespace glim::validate
