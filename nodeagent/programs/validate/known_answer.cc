#include "nodeagent/programs/validate/known_answer.h"

#include <array>
#include <bit>
#include <cmath>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace glim::validate {
namespace {

using Lanes = std::array<double, kLanes>;

void PlainMaps(Lanes& lanes, std::uint32_t steps) {
  for (std::uint32_t step = 0; step < steps; ++step) {
    for (double& x : lanes) x = kRate * std::fma(-x, x, x);
  }
}

#if defined(__x86_64__)
// Eight vectors of four lanes stay in registers.
__attribute__((target("avx2,fma"))) void WideMaps(Lanes& lanes, std::uint32_t steps) {
  constexpr int kWide = 4;
  __m256d x[kLanes / kWide];
  for (int i = 0; i < kLanes / kWide; ++i) x[i] = _mm256_loadu_pd(lanes.data() + i * kWide);
  const __m256d rate = _mm256_set1_pd(kRate);
  for (std::uint32_t step = 0; step < steps; ++step) {
    for (__m256d& one : x) one = _mm256_mul_pd(rate, _mm256_fnmadd_pd(one, one, one));
  }
  for (int i = 0; i < kLanes / kWide; ++i) _mm256_storeu_pd(lanes.data() + i * kWide, x[i]);
}
#endif

void Maps(Lanes& lanes, std::uint32_t steps) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    WideMaps(lanes, steps);
    return;
  }
#endif
  PlainMaps(lanes, steps);
}

}  // namespace

std::uint64_t KnownAnswer(std::uint32_t steps) {
  std::uint64_t state = kSeed;
  std::uint64_t sum = 0;
  for (std::uint32_t step = 0; step < steps; ++step) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    sum += state * 0x2545F4914F6CDD1DULL;
  }
  Lanes lanes;
  for (int i = 0; i < kLanes; ++i) lanes[i] = (i + 1) / 64.0 + 0.001;
  Maps(lanes, steps);
  std::uint64_t answer = sum ^ state;
  for (const double x : lanes) answer = (answer ^ std::bit_cast<std::uint64_t>(x)) * 0x100000001B3ULL;
  return answer;
}

}  // namespace glim::validate
