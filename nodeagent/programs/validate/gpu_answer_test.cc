// The products that GPUs are compared with.
#include "nodeagent/programs/validate/gpu_answer.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "nodeagent/programs/validate/gpu_kernels.h"

namespace glim::validate {
namespace {

constexpr std::uint32_t kColumns = 64;

TEST(TheKnownProduct, IsASumOfFusedStepsInTheirOrder) {
  const auto a = RowsF32(1, kColumns), b = RowsF32(2, kColumns);
  const auto product = ProductF32(a, b);
  ASSERT_EQ(product.size(), std::size_t{kPeriod} * kPeriod);
  float sum = 0;  // of row 3 and column 5
  for (std::size_t k = 0; k < kColumns; ++k) sum = std::fma(a[3 * kColumns + k], b[5 * kColumns + k], sum);
  EXPECT_EQ(product[3 * kPeriod + 5], std::bit_cast<std::uint32_t>(sum));
  EXPECT_NE(RowsF32(1, kColumns), RowsF32(2, kColumns));
}

TEST(TheKnownProduct, OfWholeNumbersIsExactInAnyOrder) {
  const auto a = RowsBf16(1, kColumns), b = RowsBf16(2, kColumns);
  const auto number = [](std::uint16_t half) {
    return static_cast<int>(std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16));
  };
  int sum = 0;
  for (std::size_t k = kColumns; k-- > 0;) sum += number(a[7 * kColumns + k]) * number(b[9 * kColumns + k]);
  EXPECT_EQ(std::bit_cast<float>(ProductBf16(a, b, 16)[7 * kPeriod + 9]), static_cast<float>(16 * sum));
  for (const std::uint16_t half : a) EXPECT_LE(std::abs(number(half)), 2);
}

}  // namespace
}  // namespace glim::validate
