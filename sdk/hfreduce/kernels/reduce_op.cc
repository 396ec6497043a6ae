#include "sdk/hfreduce/kernels/reduce_op.h"

#include <array>

namespace glim::hfreduce {
namespace {

constexpr std::array<std::string_view, kReduceOps> kReduceOpNames = {"sum", "average", "min", "max", "product"};

}  // namespace

// A value from the wire may be none of ours.
std::string_view NameOf(ReduceOp op) {
  const auto index = static_cast<std::size_t>(op);
  return index < kReduceOpNames.size() ? kReduceOpNames[index] : "unknown";
}

std::optional<ReduceOp> ReduceOpNamed(std::string_view name) {
  for (std::size_t i = 0; i < kReduceOpNames.size(); ++i) {
    if (kReduceOpNames[i] == name) return static_cast<ReduceOp>(i);
  }
  return std::nullopt;
}

std::optional<DType> ReducibleDTypeNamed(std::string_view name) {
  const std::optional<DType> type = DTypeNamed(name);
  return type && IsReducible(*type) ? type : std::nullopt;
}

}  // namespace glim::hfreduce
