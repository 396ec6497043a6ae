#include "sdk/hfreduce/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sdk/hfreduce/kernels/float8.cc"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"
#include "sdk/hfreduce/kernels/families.h"
#include "sdk/hfreduce/kernels/float8_table.h"
#include "sdk/hfreduce/kernels/floating_point-inl.h"
#include "sdk/hfreduce/kernels/small_float-inl.h"

HWY_BEFORE_NAMESPACE();
namespace glim::hfreduce {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

template <class Format>
using Float8Codec = ScalarCodec<Format>;

#elif HWY_TARGET == HWY_AVX3_DL

// Every number of both types is one of bf16: the two bytes of it are looked up in tables of 128, which vpermi2b reads
// from two registers. It ignores the sign, which goes straight into the upper byte.
template <class Format>
class Float8Codec {
 public:
  using T = std::uint8_t;
  using Wide = float;
  using DCode = hn::ScalableTag<std::uint8_t>;
  using V = hn::Vec<DCode>;
  static constexpr std::size_t kParts = 4;
  static constexpr std::size_t kBlockRegisters = 2;

  Float8Codec() {
    const DCode d;
    constexpr Float8Table kTable = Float8TableOf<Format>();
    for (std::size_t half = 0; half < 2; ++half) {
      upper_[half] = hn::LoadU(d, kTable.upper + 64 * half);
      lower_[half] = hn::LoadU(d, kTable.lower + 64 * half);
    }
  }

  // Parts: the even and the odd elements of each block's lower half, then those of its upper half.
  HWY_INLINE void Load(const std::uint8_t* address, hn::Vec<DFloat>* part) const {
    const DCode d;
    const V codes = hn::LoadU(d, address);
    const V lower = LookUp(lower_, codes);
    const V upper = hn::Or(LookUp(upper_, codes), hn::And(codes, hn::Set(d, 0x80)));
    Split(hn::InterleaveLower(d, lower, upper), part);
    Split(hn::InterleaveUpper(d, lower, upper), part + 2);
  }

  HWY_INLINE V Encode(const hn::Vec<DFloat>* part) const {
    return V{_mm512_packus_epi16(Joined(part).raw, Joined(part + 2).raw)};
  }

 private:
  static HWY_INLINE V LookUp(const V* table, V codes) {
    return V{_mm512_permutex2var_epi8(table[0].raw, codes.raw, table[1].raw)};
  }

  static HWY_INLINE void Split(V pairs_of_bf16, hn::Vec<DFloat>* part) {
    const DFloat df;
    const hn::RebindToUnsigned<DFloat> dbits;
    const auto pairs = hn::BitCast(dbits, pairs_of_bf16);
    part[0] = hn::BitCast(df, hn::ShiftLeft<16>(pairs));
    part[1] = hn::BitCast(df, hn::And(pairs, hn::Set(dbits, 0xFFFF0000u)));
  }

  static HWY_INLINE hn::Vec<DInt> Joined(const hn::Vec<DFloat>* part) {
    return hn::Or(NarrowFloat<Format>(part[0]), hn::ShiftLeft<16>(NarrowFloat<Format>(part[1])));
  }

  V upper_[2];
  V lower_[2];
};

#else

// By way of fp16, which the processor converts: e5m2 is its upper half; e4m3, shifted so that the exponents lie on each
// other, is 1/256 of its number.
template <class Format>
struct Float8Codec {
  using T = std::uint8_t;
  using Wide = float;
  using DCode = hn::ScalableTag<std::uint8_t>;
  static constexpr std::size_t kParts = 4;
  static constexpr std::size_t kBlockRegisters = 2;

  HWY_INLINE void Load(const std::uint8_t* address, hn::Vec<DFloat>* part) const {
    for (std::size_t p = 0; p < kParts; ++p) part[p] = Widen(address + p * hn::Lanes(DFloat()));
  }

  HWY_INLINE hn::Vec<DCode> Encode(const hn::Vec<DFloat>* part) const {
    const hn::Half<DCode> dhalf;
    const auto lower = hn::Combine(dhalf, Narrow(part[1]), Narrow(part[0]));
    const auto upper = hn::Combine(dhalf, Narrow(part[3]), Narrow(part[2]));
    return hn::Combine(DCode(), upper, lower);
  }

 private:
  using DQuarter = hn::Rebind<std::uint8_t, DFloat>;

  static HWY_INLINE hn::Vec<DFloat> Widen(const std::uint8_t* address) {
    const DFloat df;
    const hn::Rebind<std::int16_t, DFloat> d16;
    const hn::Rebind<hwy::float16_t, DFloat> dh;
    const auto bytes = hn::PromoteTo(hn::Rebind<std::uint16_t, DFloat>(), hn::LoadU(DQuarter(), address));
    const auto high = hn::BitCast(d16, hn::ShiftLeft<8>(bytes));
    if constexpr (Format::kHasInfinity) {
      return hn::PromoteTo(df, hn::BitCast(dh, high));
    } else {
      const auto aligned = hn::And(hn::ShiftRight<1>(high), hn::Set(d16, static_cast<std::int16_t>(0xBFFF)));
      const auto value = hn::Mul(hn::PromoteTo(df, hn::BitCast(dh, aligned)), hn::Set(df, 256.0f));
      // The code of the NaN would be 480.
      return hn::IfThenElse(hn::Gt(hn::Abs(value), hn::Set(df, 448.0f)), hn::NaN(df), value);
    }
  }

  static HWY_INLINE hn::Vec<DQuarter> Narrow(hn::Vec<DFloat> value) {
    return hn::DemoteTo(DQuarter(), NarrowFloat<Format>(value));
  }
};

#endif

template <class Format>
HWY_INLINE void ReduceFormat(const KernelCall& call) {
  ReduceFloatingPoint<Float8Codec<Format>, std::int8_t, Format::kNumberMax, Format::kNaN>(call);
}

void ReduceFloat8PerTarget(const KernelCall& call) {
  if (call.args.type == DType::kF8E4M3) {
    ReduceFormat<Float8E4M3Format>(call);
  } else {
    ReduceFormat<Float8E5M2Format>(call);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace glim::hfreduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glim::hfreduce {

HWY_EXPORT(ReduceFloat8PerTarget);
void ReduceFloat8(const KernelCall& call) { HWY_DYNAMIC_DISPATCH(ReduceFloat8PerTarget)(call); }

}  // namespace glim::hfreduce
#endif
