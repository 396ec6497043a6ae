#include "sdk/hfreduce/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sdk/hfreduce/kernels/float.cc"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"
#include "sdk/hfreduce/kernels/families.h"
#include "sdk/hfreduce/kernels/floating_point-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glim::hfreduce {
namespace HWY_NAMESPACE {

// Stored as it is accumulated.
template <typename Float>
struct PlainCodec {
  using T = Float;
  using Wide = Float;
  static constexpr std::size_t kParts = 1;
  static constexpr std::size_t kBlockRegisters = 4;

  HWY_INLINE void Load(const std::uint8_t* address, hn::Vec<hn::ScalableTag<T>>* part) const {
    part[0] = hn::LoadU(hn::ScalableTag<T>(), reinterpret_cast<const T*>(address));
  }
  HWY_INLINE hn::Vec<hn::ScalableTag<T>> Encode(const hn::Vec<hn::ScalableTag<T>>* part) const { return part[0]; }
};

void ReduceFloatPerTarget(const KernelCall& call) {
  if (call.args.type == DType::kF32) {
    ReduceFloatingPoint<PlainCodec<float>, std::int32_t, 0x7F800000, 0x7FC00000>(call);
  } else {
    ReduceFloatingPoint<PlainCodec<double>, std::int64_t, 0x7FF0000000000000, 0x7FF8000000000000>(call);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace glim::hfreduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glim::hfreduce {

HWY_EXPORT(ReduceFloatPerTarget);
void ReduceFloat(const KernelCall& call) { HWY_DYNAMIC_DISPATCH(ReduceFloatPerTarget)(call); }

}  // namespace glim::hfreduce
#endif
