// What the ranks must agree on about an operation. It travels in every message, readable, so that the one who finds a
// difference can name it.
#pragma once

#include <cstdint>
#include <string>

#include "sdk/hfreduce/kernels/reduce_op.h"

namespace glim::hfreduce {

// Values are part of the wire format.
enum class OperationKind : std::uint8_t {
  kAllReduce = 0,
  kReduce = 1,
  kBroadcast = 2,
  kAllGather = 3,
  kReduceScatter = 4,
  kBarrier = 5,
};

inline constexpr std::uint64_t kCountMax = (std::uint64_t{1} << 39) - 1;

// A value. `type` and `op` mean nothing to a broadcast, an all-gather and a barrier: leave them as they are.
struct Signature {
  OperationKind kind = OperationKind::kAllReduce;
  DType type = DType::kF32;
  ReduceOp op = ReduceOp::kSum;
  std::uint32_t root = 0;   // rank; of Reduce and Broadcast
  std::uint64_t count = 0;  // elements; bytes where there is no type; at most kCountMax

  friend bool operator==(const Signature&, const Signature&) = default;
};

// Without loss: bits 0-2 kind, 3-5 type, 6-8 op, 9-24 root, 25-63 count.
std::uint64_t Pack(const Signature& signature);
// Of any bits, also those that no Pack gives: they come from a peer.
Signature Unpack(std::uint64_t bits);

// "Reduce of 12 fp32 (sum) to rank 3".
std::string Describe(const Signature& signature);
// The fields that differ: "count 12 against 13, op sum against max". Empty: none.
std::string Difference(const Signature& theirs, const Signature& ours);

}  // namespace glim::hfreduce
