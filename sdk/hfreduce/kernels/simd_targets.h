// Which SIMD targets the kernels are built for. Included before anything of Google Highway, in every file that uses it.
//
// x86: AVX3_DL (Ice Lake, Zen 4 and later), AVX3 (Skylake), AVX2, and scalar code for the rest. Arm: NEON; vectors
// whose size is not known when compiling (SVE) do not fit into the kernels' structures.
#pragma once

#define HWY_WANT_AVX3_DL
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
// One fallback with every compiler: GCC before 12.3 cannot build Highway's other one.
#define HWY_BROKEN_EMU128 1
