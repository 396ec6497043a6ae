#include "sdk/hfreduce/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sdk/hfreduce/kernels/float16.cc"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"
#include "sdk/hfreduce/kernels/families.h"
#include "sdk/hfreduce/kernels/floating_point-inl.h"
#include "sdk/hfreduce/kernels/small_float-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glim::hfreduce {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

using Float16Codec = ScalarCodec<Float16Format>;
using BFloat16Codec = ScalarCodec<BFloat16Format>;

#else

using DCode = hn::ScalableTag<std::uint16_t>;

// By the processor's own conversions, which round to nearest even.
struct Float16Codec {
  using T = std::uint16_t;
  using Wide = float;
  static constexpr std::size_t kParts = 2;
  static constexpr std::size_t kBlockRegisters = 4;

  HWY_INLINE void Load(const std::uint8_t* address, hn::Vec<DFloat>* part) const {
    const DFloat df;
    const hn::Rebind<hwy::float16_t, DFloat> dh;
    const auto* halves = reinterpret_cast<const hwy::float16_t*>(address);
    part[0] = hn::PromoteTo(df, hn::LoadU(dh, halves));
    part[1] = hn::PromoteTo(df, hn::LoadU(dh, halves + hn::Lanes(df)));
  }

  HWY_INLINE hn::Vec<DCode> Encode(const hn::Vec<DFloat>* part) const {
    const hn::Rebind<hwy::float16_t, DFloat> dh;
    const hn::Rebind<std::uint16_t, DFloat> dcode;
    const auto lower = hn::BitCast(dcode, hn::DemoteTo(dh, part[0]));
    const auto upper = hn::BitCast(dcode, hn::DemoteTo(dh, part[1]));
    return hn::Combine(DCode(), upper, lower);
  }
};

// The upper half of an fp32: even and odd elements apart, which costs no shuffle.
struct BFloat16Codec {
  using T = std::uint16_t;
  using Wide = float;
  using DBits = hn::RebindToUnsigned<DFloat>;
  static constexpr std::size_t kParts = 2;
  static constexpr std::size_t kBlockRegisters = 4;

  HWY_INLINE void Load(const std::uint8_t* address, hn::Vec<DFloat>* part) const {
    const DFloat df;
    const DBits dbits;
    const auto pairs = hn::BitCast(dbits, hn::LoadU(DCode(), reinterpret_cast<const T*>(address)));
    part[0] = hn::BitCast(df, hn::ShiftLeft<16>(pairs));
    part[1] = hn::BitCast(df, hn::And(pairs, hn::Set(dbits, 0xFFFF0000u)));
  }

  HWY_INLINE hn::Vec<DCode> Encode(const hn::Vec<DFloat>* part) const {
    const auto even = hn::ShiftRight<16>(Rounded(part[0]));
    const auto odd = hn::And(Rounded(part[1]), hn::Set(DBits(), 0xFFFF0000u));
    return hn::BitCast(DCode(), hn::Or(even, odd));
  }

 private:
  // To nearest even, in the upper half. The canonical NaN stays one, and infinity does: their lower halves are zero.
  static HWY_INLINE hn::Vec<DBits> Rounded(hn::Vec<DFloat> value) {
    const DBits dbits;
    const auto bits = hn::BitCast(dbits, value);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(dbits, 1u));
    return hn::Add(bits, hn::Add(odd, hn::Set(dbits, 0x7FFFu)));
  }
};

#endif

void ReduceFloat16PerTarget(const KernelCall& call) {
  if (call.args.type == DType::kF16) {
    ReduceFloatingPoint<Float16Codec, std::int16_t, 0x7C00, 0x7E00>(call);
  } else {
    ReduceFloatingPoint<BFloat16Codec, std::int16_t, 0x7F80, 0x7FC0>(call);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace glim::hfreduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glim::hfreduce {

HWY_EXPORT(ReduceFloat16PerTarget);
void ReduceFloat16(const KernelCall& call) { HWY_DYNAMIC_DISPATCH(ReduceFloat16PerTarget)(call); }

}  // namespace glim::hfreduce
#endif
