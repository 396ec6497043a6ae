// What the ranks must agree on about an operation. It stands in the shared segment, where the processes of a node
// compare it, and in every message between nodes: readable, so that the one who finds a difference can name it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sdk/base/dtype.h"
#include "sdk/hfreduce/kernels/reduce_op.h"
#include "sdk/hfreduce/signature/collective.h"

namespace glim::hfreduce {

inline constexpr std::uint64_t kCountMax = (std::uint64_t{1} << 39) - 1;

// A value. `type` and `op` mean nothing to a broadcast and an all-gather: leave them as they are.
struct Signature {
  Collective kind = Collective::kAllReduce;
  DType type = DType::kF32;
  ReduceOp op = ReduceOp::kSum;
  std::uint32_t root = 0;   // rank; of Reduce and Broadcast
  std::uint64_t count = 0;  // elements; bytes where there is no type; at most kCountMax

  // What is moved: elements of `type`, or bytes.
  DType element() const { return Reduces(kind) || kind == Collective::kBarrier ? type : DType::kU8; }
  std::size_t bytes() const { return count * SizeOf(element()); }
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
