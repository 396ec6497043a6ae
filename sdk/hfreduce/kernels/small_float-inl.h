// Between fp32 and floating-point types of 8 and 16 bits, by integer operations on lanes of 32 bits: where the
// processor has no instruction for it. Per SIMD target.
#include <bit>
#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"

#if defined(GLIM_HFREDUCE_SMALL_FLOAT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLIM_HFREDUCE_SMALL_FLOAT_INL_H_
#undef GLIM_HFREDUCE_SMALL_FLOAT_INL_H_
#else
#define GLIM_HFREDUCE_SMALL_FLOAT_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace glim::hfreduce {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// kExcessCode: what rounds above the largest number becomes. kNumberMax: the greatest magnitude that is not a NaN.
template <typename StoredT, int kMantissaT, int kBiasT, std::int32_t kExcessCodeT, std::int32_t kNumberMaxT,
          std::int32_t kNaNT>
struct SmallFormat {
  using Stored = StoredT;
  using Bits = std::make_signed_t<Stored>;
  static constexpr int kMantissaBits = kMantissaT;
  static constexpr int kBias = kBiasT;
  static constexpr std::int32_t kExcessCode = kExcessCodeT;
  static constexpr std::int32_t kNumberMax = kNumberMaxT;
  static constexpr std::int32_t kNaN = kNaNT;
  static constexpr bool kHasInfinity = kExcessCode == (2 * kBias + 1) << kMantissaBits;
  static constexpr int kShift = 23 - kMantissaBits;
  static constexpr int kSignShift = 32 - 8 * static_cast<int>(sizeof(Stored));
  static constexpr std::int32_t kMagnitude = (std::int32_t{1} << (31 - kSignShift)) - 1;
};

using Float16Format = SmallFormat<std::uint16_t, 10, 15, 0x7C00, 0x7C00, 0x7E00>;
using BFloat16Format = SmallFormat<std::uint16_t, 7, 127, 0x7F80, 0x7F80, 0x7FC0>;
using Float8E4M3Format = SmallFormat<std::uint8_t, 3, 7, 0x7E, 0x7E, 0x7F>;
using Float8E5M2Format = SmallFormat<std::uint8_t, 2, 15, 0x7C, 0x7C, 0x7F>;

// 2 to this power, which a normal fp32 can be.
constexpr float PowerOfTwo(int exponent) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

using DFloat = hn::ScalableTag<float>;
using DInt = hn::RebindToSigned<DFloat>;

template <class Format>
HWY_INLINE hn::Vec<DFloat> WidenFloat(hn::Vec<DInt> code) {
  const DFloat df;
  const DInt di;
  const auto magnitude = hn::And(code, hn::Set(di, Format::kMagnitude));
  const auto sign = hn::ShiftLeft<Format::kSignShift>(hn::AndNot(hn::Set(di, Format::kMagnitude), code));
  const auto shifted = hn::ShiftLeft<Format::kShift>(magnitude);
  auto value = hn::BitCast(df, shifted);
  if constexpr (Format::kBias != 127) {
    // The exponent is still biased as the small type's is; a subnormal becomes normal on the way.
    value = hn::Mul(value, hn::Set(df, PowerOfTwo(127 - Format::kBias)));
    auto bits = hn::BitCast(di, value);
    const auto not_finite = hn::Gt(magnitude, hn::Set(di, Format::kNumberMax - (Format::kHasInfinity ? 1 : 0)));
    const auto exponent = hn::Set(di, 0x7F800000);
    bits = hn::IfThenElse(not_finite, hn::Or(exponent, shifted), bits);
    value = hn::BitCast(df, bits);
  }
  return hn::BitCast(df, hn::Or(hn::BitCast(di, value), sign));
}

// To nearest even. Codes in the low bits of each lane; a NaN must be positive.
template <class Format>
HWY_INLINE hn::Vec<DInt> NarrowFloat(hn::Vec<DFloat> value) {
  const DFloat df;
  const DInt di;
  const auto bits = hn::BitCast(di, value);
  const auto magnitude = hn::And(bits, hn::Set(di, 0x7FFFFFFF));
  const auto sign = hn::And(hn::ShiftRight<Format::kSignShift>(bits), hn::Set(di, Format::kMagnitude + 1));
  const auto odd = hn::And(hn::ShiftRight<Format::kShift>(magnitude), hn::Set(di, 1));
  const auto half = hn::Set(di, (1 << (Format::kShift - 1)) - 1 - ((127 - Format::kBias) << 23));
  auto code = hn::ShiftRight<Format::kShift>(hn::Add(hn::Add(magnitude, odd), half));
  if constexpr (Format::kBias != 127) {
    // Added to a number whose last bit is worth a subnormal's last bit, the processor rounds it as we want it.
    constexpr float kAnchor = PowerOfTwo(24 - Format::kBias - Format::kMantissaBits);
    const auto anchor = hn::Set(df, kAnchor);
    const auto anchored = hn::BitCast(di, hn::Add(hn::BitCast(df, magnitude), anchor));
    const auto subnormal = hn::Sub(anchored, hn::BitCast(di, anchor));
    const auto normal_min = hn::Set(di, std::bit_cast<std::int32_t>(PowerOfTwo(1 - Format::kBias)));
    code = hn::IfThenElse(hn::Lt(magnitude, normal_min), subnormal, code);
  }
  code = hn::Min(code, hn::Set(di, Format::kExcessCode));
  code = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x7F800000)), hn::Set(di, Format::kNaN), code);
  return hn::Or(code, sign);
}

#if HWY_TARGET == HWY_SCALAR
// One element at a time.
template <class FormatT>
struct ScalarCodec {
  using Format = FormatT;
  using T = typename Format::Stored;
  using Wide = float;
  using D = hn::ScalableTag<T>;
  static constexpr std::size_t kParts = 1;
  static constexpr std::size_t kBlockRegisters = 1;

  HWY_INLINE void Load(const std::uint8_t* address, hn::Vec<DFloat>* part) const {
    const auto code = hn::LoadU(D(), reinterpret_cast<const T*>(address));
    part[0] = WidenFloat<Format>(hn::BitCast(DInt(), hn::PromoteTo(hn::RebindToUnsigned<DFloat>(), code)));
  }
  HWY_INLINE hn::Vec<D> Encode(const hn::Vec<DFloat>* part) const {
    return hn::DemoteTo(D(), NarrowFloat<Format>(part[0]));
  }
};
#endif

}  // namespace HWY_NAMESPACE
}  // namespace glim::hfreduce
HWY_AFTER_NAMESPACE();

#endif
