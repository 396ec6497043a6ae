#include "nodeagent/programs/validate/gpu_answer.h"

#include <bit>
#include <cmath>
#include <cstddef>

#include "nodeagent/programs/validate/gpu_kernels.h"
#include "nodeagent/programs/validate/pattern.h"

namespace glim::validate {
namespace {

std::uint64_t Drawn(std::uint64_t seed, std::size_t i) { return WordOf(Pattern::kRandom, (seed << 40) + i); }

// A bfloat16 is the upper half of a number in single precision.
float WideOf(std::uint16_t number) { return std::bit_cast<float>(static_cast<std::uint32_t>(number) << 16); }

template <typename Number, typename Sum>
std::vector<std::uint32_t> Product(const std::vector<Number>& a, const std::vector<Number>& b, Sum sum_of) {
  const std::size_t columns = a.size() / kPeriod;
  std::vector<std::uint32_t> product(kPeriod * kPeriod);
  for (std::size_t i = 0; i < kPeriod; ++i) {
    for (std::size_t j = 0; j < kPeriod; ++j) {
      product[i * kPeriod + j] = std::bit_cast<std::uint32_t>(sum_of(&a[i * columns], &b[j * columns], columns));
    }
  }
  return product;
}

}  // namespace

std::vector<float> RowsF32(std::uint64_t seed, std::uint32_t columns) {
  std::vector<float> rows(std::size_t{kPeriod} * columns);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(Drawn(seed, i) >> 40) * 0x1p-23F - 1.0F;
  return rows;
}

std::vector<std::uint16_t> RowsBf16(std::uint64_t seed, std::uint32_t columns) {
  std::vector<std::uint16_t> rows(std::size_t{kPeriod} * columns);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto number = static_cast<float>(static_cast<int>(Drawn(seed, i) % 5) - 2);
    rows[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(number) >> 16);
  }
  return rows;
}

std::vector<std::uint32_t> ProductF32(const std::vector<float>& a, const std::vector<float>& b) {
  return Product(a, b, [](const float* x, const float* y, std::size_t columns) {
    float sum = 0;
    for (std::size_t k = 0; k < columns; ++k) sum = std::fma(x[k], y[k], sum);
    return sum;
  });
}

std::vector<std::uint32_t> ProductBf16(const std::vector<std::uint16_t>& a, const std::vector<std::uint16_t>& b,
                                       std::uint32_t repeat) {
  return Product(a, b, [repeat](const std::uint16_t* x, const std::uint16_t* y, std::size_t columns) {
    float sum = 0;  // of whole numbers below 2^24: exact
    for (std::size_t k = 0; k < columns; ++k) sum += WideOf(x[k]) * WideOf(y[k]);
    return sum * static_cast<float>(repeat);
  });
}

}  // namespace glim::validate
