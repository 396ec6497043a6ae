#include "sdk/hfreduce/kernels/dtype.h"

#include <array>

namespace glim::hfreduce {

namespace {

constexpr std::array<std::string_view, kDTypes> kDTypeNames = {"fp32",     "fp64",     "fp16",  "bf16",
                                                               "fp8_e4m3", "fp8_e5m2", "int32", "int64"};
constexpr std::array<std::string_view, kReduceOps> kReduceOpNames = {"sum", "average", "min", "max", "product"};

template <typename Enum, std::size_t kNames>
std::optional<Enum> Parse(const std::array<std::string_view, kNames>& names, std::string_view name) {
  for (std::size_t i = 0; i < kNames; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

// A value from the wire may be none of ours.
std::string_view NameOf(DType type) {
  const auto index = static_cast<std::size_t>(type);
  return index < kDTypeNames.size() ? kDTypeNames[index] : "unknown";
}

std::string_view NameOf(ReduceOp op) {
  const auto index = static_cast<std::size_t>(op);
  return index < kReduceOpNames.size() ? kReduceOpNames[index] : "unknown";
}

std::optional<DType> ParseDType(std::string_view name) { return Parse<DType>(kDTypeNames, name); }
std::optional<ReduceOp> ParseReduceOp(std::string_view name) { return Parse<ReduceOp>(kReduceOpNames, name); }

}  // namespace glim::hfreduce
