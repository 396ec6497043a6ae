// What the tests of a node's reductions reduce: integers, which the order of adding leaves alone, so that all that can
// go wrong is whose part went where.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sdk/base/testing/waits.h"
#include "sdk/hfreduce/node/node_reduce.h"

namespace glim::hfreduce::testing {

// So that short data has many chunks.
inline const NodeReduceOptions kSmallChunks{
    .chunk_bytes_max = 16 << 10, .each_bytes_max = 1 << 10, .timeout = LongWaitDuration()};

// Element i of a rank in the operation of this number.
inline std::int32_t ValueOf(std::size_t i, std::uint32_t rank, int number) {
  return static_cast<std::int32_t>(i * 31 + rank * 1009 + static_cast<std::size_t>(number) * 7);
}

inline std::int32_t SumOf(std::size_t i, std::uint32_t ranks, int number) {
  std::int32_t sum = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) sum += ValueOf(i, rank, number);
  return sum;
}

}  // namespace glim::hfreduce::testing
