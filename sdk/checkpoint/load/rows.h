// Row-wise partitions: what another number of ranks asks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sdk/base/result.h"
#include "sdk/checkpoint/format/tensor.h"
#include "sdk/checkpoint/load/load_range.h"

namespace glim::checkpoint {

// Rank `rank`'s of `rows` rows that `world` ranks share: in order, without a hole, and none has two more than another.
Rows EvenRows(std::uint64_t rows, std::uint32_t rank, std::uint32_t world);

// Those rows of a tensor. INVALID_ARGUMENT names the tensor: a scalar, rows beyond it, or `into` of another size.
Result<LoadRange> RangeOfRows(const TensorInfo& tensor, Rows rows, std::span<std::byte> into);

}  // namespace glim::checkpoint
