// All operations of a floating-point type. Per SIMD target.
#include "sdk/hfreduce/kernels/arithmetic-inl.h"
#include "sdk/hfreduce/kernels/operations-inl.h"
#include "sdk/hfreduce/kernels/ordered-inl.h"

#if defined(GLIM_HFREDUCE_FLOATING_POINT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLIM_HFREDUCE_FLOATING_POINT_INL_H_
#undef GLIM_HFREDUCE_FLOATING_POINT_INL_H_
#else
#define GLIM_HFREDUCE_FLOATING_POINT_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace glim::hfreduce {
namespace HWY_NAMESPACE {

// The operations of a type that has this codec and these bits.
template <class Codec, typename Bits, Bits kNumberMax, Bits kNaN>
HWY_INLINE void ReduceFloatingPoint(const KernelCall& call) {
  switch (call.args.op) {
    case ReduceOp::kSum:
    case ReduceOp::kAverage: return ReduceRange(ArithmeticKernel<Codec, Plus>(call.args.divisor), call);
    case ReduceOp::kProduct: return ReduceRange(ArithmeticKernel<Codec, Times>(1), call);
    case ReduceOp::kMin: return ReduceRange(OrderedKernel<Bits, kNumberMax, kNaN, Least>(), call);
    case ReduceOp::kMax: return ReduceRange(OrderedKernel<Bits, kNumberMax, kNaN, Greatest>(), call);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace glim::hfreduce
HWY_AFTER_NAMESPACE();

#endif
