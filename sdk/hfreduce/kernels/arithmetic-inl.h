// Sums, averages and products of floating-point types, accumulated in fp32 (fp64 in itself). Per SIMD target.
//
// A Codec has
//   using T, using Wide     what is stored, and what is accumulated
//   kParts                  registers of Wide that one register of T becomes
//   kBlockRegisters
//   Load(address, part[])
//   Encode(part[]) -> register of T, of parts whose NaN are all the canonical one
#include <cstddef>
#include <cstdint>
#include <limits>

#include "sdk/hfreduce/kernels/blocks-inl.h"

#if defined(GLIM_HFREDUCE_ARITHMETIC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLIM_HFREDUCE_ARITHMETIC_INL_H_
#undef GLIM_HFREDUCE_ARITHMETIC_INL_H_
#else
#define GLIM_HFREDUCE_ARITHMETIC_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace glim::hfreduce {
namespace HWY_NAMESPACE {

template <class Codec, class Op>
class ArithmeticKernel {
 public:
  using T = typename Codec::T;
  using Wide = typename Codec::Wide;
  using DWide = hn::ScalableTag<Wide>;
  static constexpr std::size_t kBlockRegisters = Codec::kBlockRegisters;
  struct Values {
    hn::Vec<DWide> part[Codec::kParts];
  };

  // A quotient by a power of two is a product: both are the exact value, rounded once.
  explicit ArithmeticKernel(std::size_t divisor)
      : divides_(divisor != 1),
        by_product_((divisor & (divisor - 1)) == 0),
        factor_(by_product_ ? Wide{1} / static_cast<Wide>(divisor) : static_cast<Wide>(divisor)) {}

  HWY_INLINE Values Load(const std::uint8_t* address) const {
    Values values;
    codec_.Load(address, values.part);
    return values;
  }

  HWY_INLINE Values Join(const Values& total, const Values& next) const {
    Values joined;
    for (std::size_t p = 0; p < Codec::kParts; ++p) joined.part[p] = Op::Apply(total.part[p], next.part[p]);
    return joined;
  }

  HWY_INLINE hn::Vec<hn::ScalableTag<T>> Finish(const Values& total) const {
    const DWide d;
    const auto factor = hn::Set(d, factor_);
    // Which of two NaN an addition keeps, and the sign of inf - inf, differ between processors.
    const auto nan = hn::Set(d, std::numeric_limits<Wide>::quiet_NaN());
    Values result = total;
    for (std::size_t p = 0; p < Codec::kParts; ++p) {
      if (divides_) result.part[p] = by_product_ ? hn::Mul(total.part[p], factor) : hn::Div(total.part[p], factor);
      result.part[p] = hn::IfThenElse(hn::IsNaN(result.part[p]), nan, result.part[p]);
    }
    return codec_.Encode(result.part);
  }

 private:
  Codec codec_;
  bool divides_;
  bool by_product_;
  Wide factor_;
};

}  // namespace HWY_NAMESPACE
}  // namespace glim::hfreduce
HWY_AFTER_NAMESPACE();

#endif
