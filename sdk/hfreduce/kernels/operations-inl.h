// What joins two vectors. Per SIMD target.
#include "hwy/highway.h"

#if defined(GLIM_HFREDUCE_OPERATIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLIM_HFREDUCE_OPERATIONS_INL_H_
#undef GLIM_HFREDUCE_OPERATIONS_INL_H_
#else
#define GLIM_HFREDUCE_OPERATIONS_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace glim::hfreduce {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct Plus {
  template <class V>
  static HWY_INLINE V Apply(V a, V b) {
    return hn::Add(a, b);
  }
};

struct Times {
  template <class V>
  static HWY_INLINE V Apply(V a, V b) {
    return hn::Mul(a, b);
  }
};

struct Least {
  template <class V>
  static HWY_INLINE V Apply(V a, V b) {
    return hn::Min(a, b);
  }
};

struct Greatest {
  template <class V>
  static HWY_INLINE V Apply(V a, V b) {
    return hn::Max(a, b);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace glim::hfreduce
HWY_AFTER_NAMESPACE();

#endif
