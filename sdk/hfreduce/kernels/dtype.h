// Types of elements and reductions: what a collective is asked to do, without its data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace glim::hfreduce {

// Values are part of the wire format.
enum class DType : std::uint8_t {
  kFloat32 = 0,
  kFloat64 = 1,
  kFloat16 = 2,
  kBFloat16 = 3,
  kFloat8E4M3 = 4,  // OCP FP8: one NaN, no infinity, largest 448
  kFloat8E5M2 = 5,  // OCP FP8: as IEEE, largest finite 57344
  kInt32 = 6,
  kInt64 = 7,
};
inline constexpr int kDTypes = 8;

enum class ReduceOp : std::uint8_t { kSum = 0, kAverage = 1, kMin = 2, kMax = 3, kProduct = 4 };
inline constexpr int kReduceOps = 5;

constexpr std::size_t SizeOf(DType type) {
  switch (type) {
    case DType::kFloat64:
    case DType::kInt64: return 8;
    case DType::kFloat32:
    case DType::kInt32: return 4;
    case DType::kFloat16:
    case DType::kBFloat16: return 2;
    case DType::kFloat8E4M3:
    case DType::kFloat8E5M2: return 1;
  }
  return 1;
}

// As in command lines and errors: fp32, fp64, fp16, bf16, fp8_e4m3, fp8_e5m2, int32, int64; sum, average, min, max,
// product.
std::string_view NameOf(DType type);
std::string_view NameOf(ReduceOp op);
std::optional<DType> ParseDType(std::string_view name);
std::optional<ReduceOp> ParseReduceOp(std::string_view name);

}  // namespace glim::hfreduce
