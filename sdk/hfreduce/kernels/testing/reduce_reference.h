// The contract of Reduce once more, for tests: one element at a time, by the definition of the formats, sharing nothing
// with the kernels.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "sdk/hfreduce/kernels/reduce.h"

namespace glim::hfreduce {

struct SmallTypeDefinition {
  int exponent_bits;
  int mantissa_bits;
  bool infinity;
  std::uint32_t nan;  // the code that a NaN result has

  int bits() const { return 1 + exponent_bits + mantissa_bits; }
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  std::uint32_t sign() const { return 1u << (bits() - 1); }
  std::uint32_t largest() const {
    const std::uint32_t top = ((1u << exponent_bits) - 1) << mantissa_bits;
    return infinity ? top - 1 : sign() - 2;
  }
};

inline SmallTypeDefinition DefinitionOf(DType type) {
  switch (type) {
    case DType::kF16: return {5, 10, true, 0x7E00};
    case DType::kBF16: return {8, 7, true, 0x7FC0};
    case DType::kF8E5M2: return {5, 2, true, 0x7F};
    default: return {4, 3, false, 0x7F};
  }
}

// As if every exponent stood for numbers.
inline double NumberOf(const SmallTypeDefinition& type, std::uint32_t magnitude) {
  const int exponent = static_cast<int>(magnitude >> type.mantissa_bits);
  const double mantissa = magnitude & ((1u << type.mantissa_bits) - 1);
  const double unit = std::ldexp(1.0, -type.mantissa_bits);
  if (exponent == 0) return std::ldexp(mantissa * unit, 1 - type.bias());
  return std::ldexp(1.0 + mantissa * unit, exponent - type.bias());
}

inline float Decode(const SmallTypeDefinition& type, std::uint32_t code) {
  const std::uint32_t magnitude = code & (type.sign() - 1);
  double value = NumberOf(type, magnitude);
  if (magnitude > type.largest()) value = type.infinity && magnitude == type.largest() + 1 ? INFINITY : NAN;
  return static_cast<float>((code & type.sign()) != 0 ? -value : value);
}

inline std::uint32_t Encode(const SmallTypeDefinition& type, float value) {
  if (std::isnan(value)) return type.nan;
  const double magnitude = std::fabs(static_cast<double>(value));
  // The first code above, by bisection: numbers grow with their codes.
  std::uint32_t below = 0;
  std::uint32_t above = type.largest() + 1;
  while (above - below > 1) {
    const std::uint32_t middle = (above + below) / 2;
    (NumberOf(type, middle) <= magnitude ? below : above) = middle;
  }
  const double to_below = magnitude - NumberOf(type, below);
  const double to_above = NumberOf(type, above) - magnitude;
  std::uint32_t code = to_below < to_above || (to_below == to_above && below % 2 == 0) ? below : above;
  if (code > type.largest() && !type.infinity) code = type.largest();
  return code | (std::signbit(value) ? type.sign() : 0);
}

template <typename T>
T JoinedReference(ReduceOp op, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if ((op == ReduceOp::kMin || op == ReduceOp::kMax) && (std::isnan(a) || std::isnan(b))) return NAN;
    if (op == ReduceOp::kMin) return a < b || (a == b && std::signbit(a)) ? a : b;
    if (op == ReduceOp::kMax) return a > b || (a == b && !std::signbit(a)) ? a : b;
    return op == ReduceOp::kProduct ? a * b : a + b;
  } else {
    using U = std::make_unsigned_t<T>;
    if (op == ReduceOp::kMin) return std::min(a, b);
    if (op == ReduceOp::kMax) return std::max(a, b);
    if (op == ReduceOp::kProduct) return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  }
}

template <typename T>
T ReducedReference(const ReduceArgs& args, const std::vector<T>& values) {
  T total = values[0];
  for (std::size_t s = 1; s < values.size(); ++s) total = JoinedReference(args.op, total, values[s]);
  if (args.divisor == 1) return total;
  if constexpr (std::is_floating_point_v<T>) {
    return total / static_cast<T>(args.divisor);
  } else {
    return static_cast<T>(total / static_cast<std::int64_t>(args.divisor));
  }
}

template <typename T>
std::vector<T> ElementsAt(std::span<const void* const> sources, std::size_t index) {
  std::vector<T> values(sources.size());
  for (std::size_t s = 0; s < sources.size(); ++s) {
    std::memcpy(&values[s], static_cast<const std::uint8_t*>(sources[s]) + index * sizeof(T), sizeof(T));
  }
  return values;
}

template <typename T>
void ReduceElementReference(const ReduceArgs& args, std::uint8_t* to, std::span<const void* const> sources,
                            std::size_t index) {
  T result = ReducedReference(args, ElementsAt<T>(sources, index));
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(result)) result = std::numeric_limits<T>::quiet_NaN();
  }
  std::memcpy(to + index * sizeof(T), &result, sizeof(T));
}

template <typename Code>
void ReduceSmallElementReference(const ReduceArgs& args, std::uint8_t* to, std::span<const void* const> sources,
                                 std::size_t index) {
  const SmallTypeDefinition type = DefinitionOf(args.type);
  std::vector<float> values;
  for (const Code code : ElementsAt<Code>(sources, index)) values.push_back(Decode(type, code));
  const auto code = static_cast<Code>(Encode(type, ReducedReference(args, values)));
  std::memcpy(to + index * sizeof(Code), &code, sizeof(Code));
}

inline std::vector<std::uint8_t> ReduceReference(const ReduceArgs& args, std::span<const void* const> sources,
                                                 std::size_t count) {
  std::vector<std::uint8_t> result(count * SizeOf(args.type));
  if (sources.size() == 1 && args.divisor == 1) {
    if (count > 0) std::memcpy(result.data(), sources[0], result.size());
    return result;
  }
  for (std::size_t i = 0; i < count; ++i) {
    switch (args.type) {
      case DType::kF32: ReduceElementReference<float>(args, result.data(), sources, i); break;
      case DType::kF64: ReduceElementReference<double>(args, result.data(), sources, i); break;
      case DType::kI32: ReduceElementReference<std::int32_t>(args, result.data(), sources, i); break;
      case DType::kI64: ReduceElementReference<std::int64_t>(args, result.data(), sources, i); break;
      case DType::kF16:
      case DType::kBF16: ReduceSmallElementReference<std::uint16_t>(args, result.data(), sources, i); break;
      case DType::kF8E4M3:
      case DType::kF8E5M2: ReduceSmallElementReference<std::uint8_t>(args, result.data(), sources, i); break;
      default: break;  // cannot be reduced
    }
  }
  return result;
}

}  // namespace glim::hfreduce
