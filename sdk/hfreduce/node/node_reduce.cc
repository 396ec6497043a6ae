#include "sdk/hfreduce/node/node_reduce.h"

#include <algorithm>
#include <utility>

#include "sdk/hfreduce/kernels/reduce.h"
#include "sdk/hfreduce/node/copy_bytes.h"

namespace glim::hfreduce {
namespace {

constexpr std::size_t kPieceBytesMin = 16 << 10;
constexpr std::size_t kChunksEach = 4;  // at least, of a process: so that all have about the same to do

// One half: a chunk belongs to no tree here. A function of bytes and processes.
Chunking ChunkingOfNode(const NodeOperation& operation, std::uint32_t ranks, std::size_t bytes_max, bool whole) {
  Chunking chunking;
  chunking.elements = operation.elements();
  chunking.split = operation.elements();
  std::size_t bytes = operation.bytes();
  if (!whole) bytes = std::clamp(bytes / (kChunksEach * ranks), kPieceBytesMin, bytes_max) / kCacheLine * kCacheLine;
  chunking.chunk_elements = std::max<std::size_t>(1, bytes / SizeOf(operation.element()));
  return chunking;
}

}  // namespace

Result<std::unique_ptr<NodeReduce>> NodeReduce::Create(Segment& segment, const NodeReduceOptions& options) {
  if (options.chunk_bytes_max < kPieceBytesMin || options.each_bytes_max > options.chunk_bytes_max) {
    return InvalidArgument("chunk_bytes_max", "is below 16 KiB, or below each_bytes_max");
  }
  auto exchange = Exchange::Create(segment, Reducer::kAnyProcess, 1, options.chunk_bytes_max);
  if (!exchange.ok()) return exchange.status();
  return std::unique_ptr<NodeReduce>(new NodeReduce(segment, std::move(exchange.value()), options));
}

void NodeReduce::Start(const NodeOperation& operation) {
  NodeOperation whole = operation;
  const std::uint64_t root = std::uint64_t{1} << operation.signature.root;
  if (operation.signature.kind == Collective::kReduce) whole.takes = root;
  if (operation.signature.kind == Collective::kBroadcast) {
    whole.delivers = root;
    whole.takes = ~root;
  }
  if (operation.signature.op == ReduceOp::kAverage) whole.divisor = segment_.ranks();
  const bool each_reduces =
      whole.signature.kind != Collective::kBroadcast && !whole.one_result && whole.bytes() <= options_.each_bytes_max;
  exchange_->Begin(whole, ChunkingOfNode(whole, segment_.ranks(), options_.chunk_bytes_max, each_reduces),
                   each_reduces);
}

bool NodeReduce::Progress() {
  // Results first: they are in the cache, and their slots are waited for.
  const bool took = exchange_->results().TakeOne();
  const bool reduced = ReduceOne();
  const bool delivered = exchange_->delivery().DeliverOne();
  return took || reduced || delivered;
}

bool NodeReduce::ReduceOne() {
  if (!exchange_->Agreed()) return false;
  const Agreement& agreement = exchange_->agreement();
  const Way way = agreement.way();
  if (way != Way::kInto && way != Way::kOnePlace && way != Way::kRing) return false;
  const auto chunk = exchange_->results().Claim();
  if (!chunk) return false;
  const NodeOperation& operation = agreement.operation();
  const Range range = exchange_->chunking().RangeOf(0, *chunk);
  const std::span<const void* const> sources = exchange_->delivery().Sources(0, *chunk);
  ReduceArgs args{
      .type = operation.element(), .op = operation.signature.op, .divisor = operation.divisor, .stream = false};
  if (way == Way::kInto) {
    if (!scratch_) scratch_ = std::make_unique<std::byte[]>(options_.chunk_bytes_max);
    hfreduce::Reduce(args, scratch_.get(), sources, range.count);
    const std::size_t element = SizeOf(operation.element());
    for (std::uint32_t rank = 0; rank < segment_.ranks(); ++rank) {
      std::byte* out = agreement.OutOf(rank);
      if (out == nullptr) continue;
      CopyBytes(out + range.begin * element, scratch_.get(), range.count * element, operation.large());
    }
  } else {
    args.stream = way == Way::kOnePlace && operation.large();
    hfreduce::Reduce(args, exchange_->results().Place(0, *chunk), sources, range.count);
  }
  exchange_->results().Publish(0, *chunk);
  return true;
}

Status NodeReduce::Wait() {
  return exchange_->Drive([this] { return Progress(); }, [this] { return Ended(); }, options_.timeout);
}

Status NodeReduce::AllReduce(std::span<const std::byte> in, std::span<std::byte> out, DType type, ReduceOp op,
                             bool one_result) {
  Start({.signature = {.kind = Collective::kAllReduce, .type = type, .op = op, .count = in.size() / SizeOf(type)},
         .in = in.data(),
         .out = out.data(),
         .one_result = one_result});
  return Wait();
}

Status NodeReduce::Reduce(std::span<const std::byte> in, std::span<std::byte> out, DType type, ReduceOp op,
                          std::uint32_t root) {
  Start({.signature =
             {.kind = Collective::kReduce, .type = type, .op = op, .root = root, .count = in.size() / SizeOf(type)},
         .in = in.data(),
         .out = out.data()});
  return Wait();
}

Status NodeReduce::Broadcast(std::span<std::byte> buffer, std::uint32_t root) {
  Start({.signature = {.kind = Collective::kBroadcast, .root = root, .count = buffer.size()},
         .in = buffer.data(),
         .out = buffer.data()});
  return Wait();
}

Status NodeReduce::Barrier() {
  Start({.signature = {.kind = Collective::kBarrier}});
  return Wait();
}

}  // namespace glim::hfreduce
