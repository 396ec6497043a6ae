// The numbers of an fp8 type as bf16, which holds them all.
#pragma once

#include <cstdint>

namespace glim::hfreduce {

// By magnitude: the code without its sign.
struct Float8Table {
  std::uint8_t upper[128] = {};
  std::uint8_t lower[128] = {};
};

constexpr std::uint32_t BFloat16OfFloat8(std::uint32_t magnitude, int mantissa_bits, int bias, std::uint32_t number_max,
                                         bool infinity) {
  if (magnitude > number_max) return 0x7FC0;
  if (infinity && magnitude == number_max) return 0x7F80;
  if (magnitude == 0) return 0;
  int exponent = static_cast<int>(magnitude >> mantissa_bits);
  std::uint32_t mantissa = magnitude & ((1u << mantissa_bits) - 1);
  if (exponent == 0) {  // subnormal: shifted until its first bit is the one that is implied
    exponent = 1;
    for (; (mantissa >> mantissa_bits) == 0; mantissa <<= 1) --exponent;
    mantissa &= (1u << mantissa_bits) - 1;
  }
  return (static_cast<std::uint32_t>(exponent - bias + 127) << 7) | (mantissa << (7 - mantissa_bits));
}

template <class Format>
constexpr Float8Table Float8TableOf() {
  Float8Table table;
  for (std::uint32_t magnitude = 0; magnitude < 128; ++magnitude) {
    const std::uint32_t bits =
        BFloat16OfFloat8(magnitude, Format::kMantissaBits, Format::kBias, Format::kNumberMax, Format::kHasInfinity);
    table.upper[magnitude] = static_cast<std::uint8_t>(bits >> 8);
    table.lower[magnitude] = static_cast<std::uint8_t>(bits & 0xFF);
  }
  return table;
}

}  // namespace glim::hfreduce
