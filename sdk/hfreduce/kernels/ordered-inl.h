// Min and max of floating-point types, on their bits: no widening, no rounding. -0 is less than +0; a NaN anywhere
// gives the canonical one. Per SIMD target.
#include <cstddef>
#include <cstdint>

#include "sdk/hfreduce/kernels/blocks-inl.h"

#if defined(GLIM_HFREDUCE_ORDERED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLIM_HFREDUCE_ORDERED_INL_H_
#undef GLIM_HFREDUCE_ORDERED_INL_H_
#else
#define GLIM_HFREDUCE_ORDERED_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace glim::hfreduce {
namespace HWY_NAMESPACE {

// Bits: the signed integer as wide as the type. kNumberMax: the magnitude of the largest number (or infinity), as bits.
template <typename Bits, Bits kNumberMax, Bits kNaN, class Op>
class OrderedKernel {
 public:
  using T = Bits;
  using D = hn::ScalableTag<T>;
  static constexpr std::size_t kBlockRegisters = 4;
  struct Values {
    hn::Vec<D> key;        // ordered as the numbers are
    hn::Vec<D> magnitude;  // the greatest so far: tells whether a NaN was among them
  };

  HWY_INLINE Values Load(const std::uint8_t* address) const {
    const D d;
    const auto bits = hn::LoadU(d, reinterpret_cast<const T*>(address));
    return {Swap(bits), hn::And(bits, hn::Set(d, hwy::LimitsMax<T>()))};
  }

  HWY_INLINE Values Join(const Values& total, const Values& next) const {
    return {Op::Apply(total.key, next.key), hn::Max(total.magnitude, next.magnitude)};
  }

  HWY_INLINE hn::Vec<D> Finish(const Values& total) const {
    const D d;
    return hn::IfThenElse(hn::Gt(total.magnitude, hn::Set(d, kNumberMax)), hn::Set(d, kNaN), Swap(total.key));
  }

 private:
  // From sign and magnitude to an integer of the same order, and back.
  static HWY_INLINE hn::Vec<D> Swap(hn::Vec<D> v) {
    const D d;
    return hn::Xor(v, hn::And(hn::BroadcastSignBit(v), hn::Set(d, hwy::LimitsMax<T>())));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace glim::hfreduce
HWY_AFTER_NAMESPACE();

#endif
