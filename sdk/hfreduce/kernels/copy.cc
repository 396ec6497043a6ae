#include "sdk/hfreduce/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sdk/hfreduce/kernels/copy.cc"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"
#include "sdk/hfreduce/kernels/blocks-inl.h"
#include "sdk/hfreduce/kernels/families.h"
#include "sdk/hfreduce/kernels/reduce.h"

HWY_BEFORE_NAMESPACE();
namespace glim::hfreduce {
namespace HWY_NAMESPACE {

struct CopyKernel {
  using T = std::uint8_t;
  using Values = hn::Vec<hn::ScalableTag<T>>;
  static constexpr std::size_t kBlockRegisters = 4;

  HWY_INLINE Values Load(const std::uint8_t* address) const { return hn::LoadU(hn::ScalableTag<T>(), address); }
  HWY_INLINE Values Join(Values total, Values) const { return total; }
  HWY_INLINE Values Finish(Values total) const { return total; }
};

void StreamCopyPerTarget(const KernelCall& call) { ReduceRange(CopyKernel(), call); }
const char* NamePerTarget() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace glim::hfreduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glim::hfreduce {

HWY_EXPORT(StreamCopyPerTarget);
void StreamCopy(const KernelCall& call) { HWY_DYNAMIC_DISPATCH(StreamCopyPerTarget)(call); }

HWY_EXPORT(NamePerTarget);
const char* SimdTarget() { return HWY_DYNAMIC_DISPATCH(NamePerTarget)(); }

}  // namespace glim::hfreduce
#endif
