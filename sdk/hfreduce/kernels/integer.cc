#include "sdk/hfreduce/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sdk/hfreduce/kernels/integer.cc"
#include "hwy/foreach_target.h"

#include <algorithm>
#include <type_traits>

#include "hwy/highway.h"
#include "sdk/hfreduce/kernels/blocks-inl.h"
#include "sdk/hfreduce/kernels/families.h"
#include "sdk/hfreduce/kernels/operations-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glim::hfreduce {
namespace HWY_NAMESPACE {

// Sums and products on unsigned lanes: they wrap around.
template <typename Lane, class Op>
class IntegerKernel {
 public:
  using T = Lane;
  using D = hn::ScalableTag<T>;
  using Values = hn::Vec<D>;
  static constexpr std::size_t kBlockRegisters = 4;

  HWY_INLINE Values Load(const std::uint8_t* address) const {
    return hn::LoadU(D(), reinterpret_cast<const T*>(address));
  }
  HWY_INLINE Values Join(Values total, Values next) const { return Op::Apply(total, next); }
  HWY_INLINE Values Finish(Values total) const { return total; }
};

template <typename Lane>
class IntegerAverage {
 public:
  using T = Lane;
  using D = hn::ScalableTag<T>;
  using Values = hn::Vec<D>;
  static constexpr std::size_t kBlockRegisters = 4;
  explicit IntegerAverage(std::size_t divisor)
      : divisor_(static_cast<std::int64_t>(std::min<std::size_t>(divisor, hwy::LimitsMax<std::int64_t>()))) {}

  HWY_INLINE Values Load(const std::uint8_t* address) const { return sum_.Load(address); }
  HWY_INLINE Values Join(Values total, Values next) const { return sum_.Join(total, next); }
  // No SIMD target divides integers.
  HWY_INLINE Values Finish(Values total) const {
    const D d;
    HWY_ALIGN T lanes[hn::MaxLanes(d)];
    hn::Store(total, d, lanes);
    for (T& lane : lanes) {
      lane = static_cast<T>(static_cast<std::int64_t>(static_cast<std::make_signed_t<T>>(lane)) / divisor_);
    }
    return hn::Load(d, lanes);
  }

 private:
  IntegerKernel<Lane, Plus> sum_;
  std::int64_t divisor_;
};

template <typename Signed, typename Unsigned>
HWY_INLINE void ReduceLanes(const KernelCall& call) {
  switch (call.args.op) {
    case ReduceOp::kAverage:
      if (call.args.divisor != 1) return ReduceRange(IntegerAverage<Unsigned>(call.args.divisor), call);
      [[fallthrough]];
    case ReduceOp::kSum: return ReduceRange(IntegerKernel<Unsigned, Plus>(), call);
    case ReduceOp::kProduct: return ReduceRange(IntegerKernel<Unsigned, Times>(), call);
    case ReduceOp::kMin: return ReduceRange(IntegerKernel<Signed, Least>(), call);
    case ReduceOp::kMax: return ReduceRange(IntegerKernel<Signed, Greatest>(), call);
  }
}

void ReduceIntegerPerTarget(const KernelCall& call) {
  if (call.args.type == DType::kI32) {
    ReduceLanes<std::int32_t, std::uint32_t>(call);
  } else {
    ReduceLanes<std::int64_t, std::uint64_t>(call);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace glim::hfreduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glim::hfreduce {

HWY_EXPORT(ReduceIntegerPerTarget);
void ReduceInteger(const KernelCall& call) { HWY_DYNAMIC_DISPATCH(ReduceIntegerPerTarget)(call); }

}  // namespace glim::hfreduce
#endif
