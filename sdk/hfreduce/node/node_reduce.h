// Collectives among the processes of one node: every process reduces, each time the next chunk that all have delivered
// (algorithm 1 of the Fire-Flyer paper, section IV.A). Who reduces a chunk is chance and changes no bit: elements are
// added in the order of local ranks.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/hfreduce/node/exchange.h"
#include "sdk/hfreduce/node/segment.h"

namespace glim::hfreduce {

struct NodeReduceOptions {
  // At most so much is reduced at a time: what all processes have of it shall lie in a core's second-level cache.
  std::size_t chunk_bytes_max = 128 << 10;
  // Up to here every process reduces everything for itself: one meeting instead of two.
  std::size_t each_bytes_max = 16 << 10;
  Duration timeout = Seconds(60);  // without any progress, before an operation fails
};

// Not thread-safe. The segment must outlive it; one NodeReduce a segment. One operation at a time: Start, then Progress
// until Ended (or Wait does both). After a failure, which holds for all processes and for good, nothing can be started.
class NodeReduce {
 public:
  static Result<std::unique_ptr<NodeReduce>> Create(Segment& segment, const NodeReduceOptions& options);

  // `delivers` and `takes` are as the kind has them: all, or the local rank `signature.root`.
  void Start(const NodeOperation& operation);
  // At most a few chunks' work, without waiting. True if anything was done.
  bool Progress();
  bool Ended() { return exchange_->Ended(); }
  // UNAVAILABLE (a process died, left or stalled: which), INVALID_ARGUMENT (processes asked for different things: who),
  // RESOURCE_EXHAUSTED (no memory behind the segment).
  Status Wait();
  // For those who wait by themselves.
  Exchange& exchange() { return *exchange_; }

  // Start and Wait. Sizes in bytes; the result is also in local rank 0's `out` alone, if `one_result`.
  Status AllReduce(std::span<const std::byte> in, std::span<std::byte> out, DType type, ReduceOp op,
                   bool one_result = false);
  Status Reduce(std::span<const std::byte> in, std::span<std::byte> out, DType type, ReduceOp op, std::uint32_t root);
  Status Broadcast(std::span<std::byte> buffer, std::uint32_t root);
  Status Barrier();

 private:
  NodeReduce(Segment& segment, std::unique_ptr<Exchange> exchange, const NodeReduceOptions& options)
      : segment_(segment), exchange_(std::move(exchange)), options_(options) {}
  bool ReduceOne();

  Segment& segment_;
  std::unique_ptr<Exchange> exchange_;
  NodeReduceOptions options_;
  std::unique_ptr<std::byte[]> scratch_;  // of a chunk, for Way::kInto
};

}  // namespace glim::hfreduce
