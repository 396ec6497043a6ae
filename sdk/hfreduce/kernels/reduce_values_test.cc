// Single numbers: every one of the small types, and where rounding, infinities, NaN and zeros meet.
#include "sdk/hfreduce/kernels/simd_targets.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "hwy/highway.h"
#include "sdk/hfreduce/kernels/reduce.h"
#include "sdk/hfreduce/kernels/testing/reduce_reference.h"

namespace glim::hfreduce {
namespace {

// A case for each SIMD target of this processor.
class ReduceValues : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(GetParam());
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().DeInit();
  }
};

INSTANTIATE_TEST_SUITE_P(On, ReduceValues, testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const testing::TestParamInfo<std::int64_t>& info) { return hwy::TargetName(info.param); });

// Repeated, so that SIMD code meets the numbers, not only that for the end of a range.
template <typename T>
T Reduced(const ReduceArgs& args, std::initializer_list<T> values) {
  constexpr std::size_t kCount = 129;
  std::vector<std::vector<T>> sources;
  std::vector<const void*> addresses;
  for (const T value : values) sources.emplace_back(kCount, value);
  for (const std::vector<T>& source : sources) addresses.push_back(source.data());
  std::vector<T> result(kCount);
  Reduce(args, result.data(), addresses, kCount);
  for (const T& one : result) EXPECT_EQ(std::memcmp(&one, &result[0], sizeof(T)), 0);
  return result[0];
}

// `values` are numbers of the type, and so must the result be, to be told apart.
float ReducedSmall(const ReduceArgs& args, std::initializer_list<float> values) {
  constexpr std::size_t kCount = 129;
  const SmallTypeDefinition type = DefinitionOf(args.type);
  const std::size_t size = SizeOf(args.type);
  std::vector<std::vector<std::uint8_t>> sources;
  std::vector<const void*> addresses;
  for (const float value : values) {
    const std::uint32_t code = Encode(type, value);
    if (!std::isnan(value)) {
      EXPECT_EQ(Decode(type, code), value) << "no number of " << NameOf(args.type);
    }
    sources.emplace_back(kCount * size);
    for (std::size_t i = 0; i < kCount; ++i) std::memcpy(sources.back().data() + i * size, &code, size);
  }
  for (const auto& source : sources) addresses.push_back(source.data());
  std::vector<std::uint8_t> result(kCount * size);
  Reduce(args, result.data(), addresses, kCount);
  std::uint32_t code = 0;
  std::memcpy(&code, result.data() + (kCount / 2) * size, size);
  return Decode(type, code);
}

float SumOf(DType type, std::initializer_list<float> values) { return ReducedSmall({.type = type}, values); }

// Every code of a type against these others.
void ExpectAllPairs(ReduceArgs args, const std::vector<std::uint32_t>& others) {
  const std::size_t size = SizeOf(args.type);
  const std::size_t codes = std::size_t{1} << (8 * size);
  std::vector<std::uint8_t> all(codes * size), other(codes * size), result(codes * size);
  for (std::size_t code = 0; code < codes; ++code) std::memcpy(all.data() + code * size, &code, size);
  const std::vector<const void*> sources{all.data(), other.data()};
  for (const std::uint32_t value : others) {
    for (std::size_t i = 0; i < codes; ++i) std::memcpy(other.data() + i * size, &value, size);
    Reduce(args, result.data(), sources, codes);
    ASSERT_EQ(result, ReduceReference(args, sources, codes)) << NameOf(args.type) << " with code " << value;
  }
}

TEST_P(ReduceValues, AddsMultipliesAndOrdersAllPairsOfFp8) {
  std::vector<std::uint32_t> codes(256);
  for (std::uint32_t code = 0; code < 256; ++code) codes[code] = code;
  for (const DType type : {DType::kF8E4M3, DType::kF8E5M2}) {
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kProduct, ReduceOp::kMin, ReduceOp::kMax}) {
      ExpectAllPairs({.type = type, .op = op}, codes);
    }
    ExpectAllPairs({.type = type, .op = ReduceOp::kAverage, .divisor = 2}, codes);
    ExpectAllPairs({.type = type, .op = ReduceOp::kAverage, .divisor = 3}, codes);
  }
}

TEST_P(ReduceValues, AddsEveryFp16AndBf16) {
  // Zeros, subnormals, ones, large, infinities, NaN; what is halfway for many; and some more.
  ExpectAllPairs({.type = DType::kF16},
                 {0x0000, 0x8000, 0x0001, 0x83FF, 0x0400, 0x1401, 0x3C00, 0xBC01, 0x7BFF, 0x7C00, 0xFC00, 0xFE01});
  ExpectAllPairs({.type = DType::kBF16},
                 {0x0000, 0x8000, 0x0001, 0x807F, 0x0080, 0x3C01, 0x3F80, 0xBF81, 0x7F7F, 0x7F80, 0xFF80, 0xFFC1});
}

TEST_P(ReduceValues, HalvesEveryFp16AndBf16) {
  // Halves of subnormals are the ties of the smallest numbers.
  ExpectAllPairs({.type = DType::kF16, .op = ReduceOp::kAverage, .divisor = 2}, {0x0000, 0x0002, 0x8001});
  ExpectAllPairs({.type = DType::kBF16, .op = ReduceOp::kAverage, .divisor = 2}, {0x0000, 0x0002, 0x8001});
  ExpectAllPairs({.type = DType::kF16, .op = ReduceOp::kAverage, .divisor = 1000}, {0x0000});
  ExpectAllPairs({.type = DType::kBF16, .op = ReduceOp::kAverage, .divisor = 1000}, {0x0000});
}

TEST_P(ReduceValues, RoundsTiesToEven) {
  EXPECT_EQ(SumOf(DType::kF16, {2048, 1}), 2048);
  EXPECT_EQ(SumOf(DType::kF16, {2050, 1}), 2052);
  EXPECT_EQ(SumOf(DType::kBF16, {256, 1}), 256);
  EXPECT_EQ(SumOf(DType::kBF16, {258, 1}), 260);
  EXPECT_EQ(SumOf(DType::kF8E4M3, {16, 1}), 16);
  EXPECT_EQ(SumOf(DType::kF8E4M3, {18, 1}), 20);
  EXPECT_EQ(SumOf(DType::kF8E5M2, {8, 1}), 8);
  EXPECT_EQ(SumOf(DType::kF8E5M2, {10, 1}), 12);
}

TEST_P(ReduceValues, RoundsOnceHoweverManySources) {
  EXPECT_EQ(SumOf(DType::kF16, {2048, 1, 1}), 2050);
  EXPECT_EQ(SumOf(DType::kBF16, {256, 1, 1}), 258);
  EXPECT_EQ(SumOf(DType::kF8E4M3, {16, 0.5, 0.5, 0.5, 0.5}), 18);
  EXPECT_EQ(SumOf(DType::kF8E5M2, {8, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}), 12);
  // The sum of an average may be more than the type holds.
  EXPECT_EQ(ReducedSmall({.type = DType::kF16, .op = ReduceOp::kAverage, .divisor = 2}, {65504, 65504}), 65504);
  EXPECT_EQ(ReducedSmall({.type = DType::kF8E4M3, .op = ReduceOp::kAverage, .divisor = 2}, {448, 448}), 448);
}

TEST_P(ReduceValues, OverflowsAsTheTypeDoes) {
  EXPECT_EQ(SumOf(DType::kF16, {65504, 8}), 65504);
  EXPECT_EQ(SumOf(DType::kF16, {65504, 16}), INFINITY);
  EXPECT_EQ(SumOf(DType::kBF16, {0x1.FEp127f, 0x1p127f}), INFINITY);
  EXPECT_EQ(SumOf(DType::kF8E5M2, {57344, 3584}), 57344);
  EXPECT_EQ(SumOf(DType::kF8E5M2, {-57344, -4096}), -INFINITY);
  EXPECT_EQ(SumOf(DType::kF8E4M3, {448, 448}), 448);
  EXPECT_EQ(SumOf(DType::kF8E4M3, {-448, -448}), -448);
  EXPECT_EQ(ReducedSmall({.type = DType::kF8E4M3, .op = ReduceOp::kProduct},
                         {448, 448, 448, 448, 448, 448, 448, 448, 448, 448, 448, 448, 448, 448, 448, 448}),
            448);
}

TEST_P(ReduceValues, KeepsSubnormals) {
  EXPECT_EQ(SumOf(DType::kF16, {0x1p-24f, 0x1p-24f}), 0x1p-23f);
  EXPECT_EQ(SumOf(DType::kBF16, {0x1p-133f, 0x1p-133f}), 0x1p-132f);
  EXPECT_EQ(SumOf(DType::kF8E4M3, {0x1p-9f, 0x1p-8f}), 0x1.8p-8f);
  EXPECT_EQ(SumOf(DType::kF8E5M2, {0x1p-16f, 0x1p-15f}), 0x1.8p-15f);
  EXPECT_EQ(Reduced<float>({}, {0x1p-149f, 0x1p-149f}), 0x1p-148f);
}

TEST_P(ReduceValues, AddsFromLeftToRight) {
  EXPECT_EQ(Reduced<float>({}, {1e30f, -1e30f, 1.0f}), 1.0f);
  EXPECT_EQ(Reduced<float>({}, {1.0f, 1e30f, -1e30f}), 0.0f);
  EXPECT_EQ(Reduced<double>({.type = DType::kF64}, {1e300, -1e300, 1.0}), 1.0);
  EXPECT_EQ(Reduced<double>({.type = DType::kF64}, {1.0, 1e300, -1e300}), 0.0);
}

TEST_P(ReduceValues, DividesAnAverageExactlyOnce) {
  EXPECT_EQ(Reduced<float>({.op = ReduceOp::kAverage, .divisor = 3}, {1.0f, 0.0f, 0.0f}), 1.0f / 3.0f);
  EXPECT_EQ(Reduced<float>({.op = ReduceOp::kAverage, .divisor = 8}, {0x1p-149f, 0x1p-146f}), 0x1p-149f);
  EXPECT_EQ(Reduced<double>({.type = DType::kF64, .op = ReduceOp::kAverage, .divisor = 7}, {1.0, 0.0}), 1.0 / 7.0);
  // A divisor of 1 is a sum: a node that is not the last to add.
  EXPECT_EQ(Reduced<float>({.op = ReduceOp::kAverage, .divisor = 1}, {1.0f, 2.0f}), 3.0f);
}

TEST_P(ReduceValues, GiveNaNWhereThereIsOneAndAlwaysTheSame) {
  const float payload = std::bit_cast<float>(0xFFC12345u);
  const float signalling = std::bit_cast<float>(0x7F800001u);
  for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMin, ReduceOp::kMax, ReduceOp::kProduct}) {
    for (const float nan : {payload, signalling}) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(Reduced<float>({.op = op}, {1.0f, nan})), 0x7FC00000u);
      EXPECT_EQ(std::bit_cast<std::uint32_t>(Reduced<float>({.op = op}, {nan, 1.0f, 2.0f})), 0x7FC00000u);
    }
  }
  EXPECT_EQ(std::bit_cast<std::uint32_t>(Reduced<float>({}, {INFINITY, -INFINITY})), 0x7FC00000u);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(Reduced<double>({.type = DType::kF64}, {HUGE_VAL, -HUGE_VAL})),
            0x7FF8000000000000u);
  EXPECT_TRUE(std::isnan(SumOf(DType::kF8E4M3, {NAN, 1})));
  EXPECT_TRUE(std::isnan(SumOf(DType::kF8E5M2, {INFINITY, -INFINITY})));
  EXPECT_TRUE(std::isnan(ReducedSmall({.type = DType::kBF16, .op = ReduceOp::kMax}, {INFINITY, NAN})));
}

TEST_P(ReduceValues, OrdersZeros) {
  EXPECT_TRUE(std::signbit(Reduced<float>({.op = ReduceOp::kMin}, {0.0f, -0.0f})));
  EXPECT_TRUE(std::signbit(Reduced<float>({.op = ReduceOp::kMin}, {-0.0f, 0.0f})));
  EXPECT_FALSE(std::signbit(Reduced<float>({.op = ReduceOp::kMax}, {0.0f, -0.0f})));
  EXPECT_FALSE(std::signbit(Reduced<float>({.op = ReduceOp::kMax}, {-0.0f, 0.0f})));
  EXPECT_TRUE(std::signbit(Reduced<float>({}, {-0.0f, -0.0f})));
}

TEST_P(ReduceValues, WrapIntegersAroundAndDivideThemTowardsZero) {
  constexpr std::int32_t kMin32 = std::numeric_limits<std::int32_t>::min();
  constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(Reduced<std::int32_t>({.type = DType::kI32}, {kMin32, -1}), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(Reduced<std::int64_t>({.type = DType::kI64}, {kMax64, 1}), std::numeric_limits<std::int64_t>::min());
  const ReduceArgs product{.type = DType::kI64, .op = ReduceOp::kProduct};
  EXPECT_EQ(Reduced<std::int64_t>(product, {std::int64_t{1} << 40, (std::int64_t{1} << 24) + 3}),
            std::int64_t{3} << 40);
  const ReduceArgs average{.type = DType::kI32, .op = ReduceOp::kAverage, .divisor = 4};
  EXPECT_EQ(Reduced<std::int32_t>(average, {-4, -3}), -1);
  EXPECT_EQ(Reduced<std::int32_t>(average, {4, 3}), 1);
  EXPECT_EQ(
      Reduced<std::int32_t>({.type = DType::kI32, .op = ReduceOp::kAverage, .divisor = std::size_t{1} << 40}, {kMin32}),
      0);
  EXPECT_EQ(
      Reduced<std::int64_t>({.type = DType::kI64, .op = ReduceOp::kAverage, .divisor = ~std::size_t{0}}, {kMax64 - 1}),
      0);
}

#if defined(__x86_64__)
TEST_P(ReduceValues, DoNotDependOnHowTheCallersThreadRounds) {
  constexpr unsigned kFlushAndRoundUp = 0x1F80 | 0x8040 | 0x4000;
  const unsigned before = _mm_getcsr();
  _mm_setcsr(kFlushAndRoundUp);
  const float subnormal = Reduced<float>({}, {0x1p-149f, 0x1p-149f});
  const float rounded = Reduced<float>({}, {0x1p24f, 1.0f});
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(subnormal), 2u);
  EXPECT_EQ(rounded, 0x1p24f);
  EXPECT_EQ(after, kFlushAndRoundUp);
}
#endif

}  // namespace
}  // namespace glim::hfreduce
