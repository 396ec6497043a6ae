// An operation as the processes of one node see it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sdk/hfreduce/node/device_stage.h"
#include "sdk/hfreduce/signature/signature.h"

namespace glim::hfreduce {

inline constexpr std::uint64_t kAllLocalRanks = ~std::uint64_t{0};

// The same in all processes of the node but for the buffers. A value.
struct NodeOperation {
  Signature signature = {.kind = Collective::kBarrier};
  std::size_t divisor = 1;                  // of kAverage
  std::uint64_t delivers = kAllLocalRanks;  // bit i: local rank i gives its `in`
  std::uint64_t takes = kAllLocalRanks;     // and wants the result in its `out`
  const std::byte* in = nullptr;            // null in a process that gives nothing. Read in place in the segment
  std::byte* out = nullptr;                 // may be `in`
  bool one_result = false;                  // the result lies once, in local rank 0's `out`, in the segment
  OnDevice on_device = {};                  // buffers there are copied in and out

  DType element() const { return signature.element(); }
  std::size_t elements() const { return signature.count; }
  std::size_t bytes() const { return signature.bytes(); }
  bool DeliveredBy(std::uint32_t local_rank) const { return (delivers >> local_rank & 1) != 0; }
  bool TakenBy(std::uint32_t local_rank) const { return (takes >> local_rank & 1) != 0; }
  // Too much for the caches: results are better written past them.
  bool large() const { return bytes() >= std::size_t{4} << 20; }
};

}  // namespace glim::hfreduce
