// The operations that reduce.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sdk/base/dtype.h"

namespace glim::hfreduce {

// Values are part of the wire format.
enum class ReduceOp : std::uint8_t { kSum = 0, kAverage = 1, kMin = 2, kMax = 3, kProduct = 4 };
inline constexpr int kReduceOps = 5;

// As in command lines and errors: sum, average, min, max, product; "unknown" for any other value.
std::string_view NameOf(ReduceOp op);
std::optional<ReduceOp> ReduceOpNamed(std::string_view name);
// Of the element types that can be reduced.
std::optional<DType> ReducibleDTypeNamed(std::string_view name);

}  // namespace glim::hfreduce
