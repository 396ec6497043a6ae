// Whoever calls may have set its thread to flush subnormals or to round otherwise (torch.set_flush_denormal does): the
// bits of a result would then depend on the thread that happened to compute it.
#pragma once

#include <cfenv>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace glim::hfreduce {

#if defined(__x86_64__)

// IEEE 754's defaults while it lives, for this thread. The SSE register alone: the x87 one takes longer, and no kernel
// uses it.
class DefaultRounding {
 public:
  DefaultRounding() : before_(_mm_getcsr()) { _mm_setcsr(kDefault); }
  ~DefaultRounding() { _mm_setcsr(before_); }
  DefaultRounding(const DefaultRounding&) = delete;
  DefaultRounding& operator=(const DefaultRounding&) = delete;

 private:
  static constexpr unsigned kDefault = 0x1F80;  // exceptions masked, to nearest even, subnormals kept
  unsigned before_;
};

#else

class DefaultRounding {
 public:
  DefaultRounding() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultRounding() { std::fesetenv(&before_); }
  DefaultRounding(const DefaultRounding&) = delete;
  DefaultRounding& operator=(const DefaultRounding&) = delete;

 private:
  std::fenv_t before_;
};

#endif

}  // namespace glim::hfreduce
