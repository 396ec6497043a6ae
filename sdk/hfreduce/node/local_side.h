// What a node gives to and takes from an operation that goes between nodes: the buffer of its only process, or those of
// all its processes through the shared segment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sdk/hfreduce/tree/chunking.h"

namespace glim::hfreduce {

// Called by the thread that drives the operation, for chunks of a half in order. Ranges are the chunking's.
class LocalSide {
 public:
  virtual ~LocalSide() = default;
  // Whether every process of the node has delivered the chunk.
  virtual bool Delivered(int half, std::uint32_t chunk) = 0;
  // Once delivered, until SourcesRead or Done: where it lies, in the order of local ranks.
  virtual std::span<const void* const> Sources(int half, std::uint32_t chunk) = 0;
  // The sources of this chunk and those before are needed no more: their slots may be filled again while the result is
  // still on its way. Need not be called.
  virtual void SourcesRead(int, std::uint32_t) {}
  // Room for the node's sum and, later, the result. Null: not yet (a slot of a ring is still being read). Once given,
  // the same until Done.
  virtual std::byte* Destination(int half, std::uint32_t chunk) = 0;
  // The result lies in the destination (of a Reduce: on the root's node alone), and no message is sent from there any
  // more.
  virtual void Done(int half, std::uint32_t chunk) = 0;
};

// A node with one process and a buffer of its own: everything is there at once.
class BufferSide final : public LocalSide {
 public:
  // The chunking must outlive it. `in` may be `out`.
  BufferSide(const Chunking& chunking, std::size_t element_bytes, const std::byte* in, std::byte* out)
      : chunking_(chunking), element_bytes_(element_bytes), in_(in), out_(out) {}

  bool Delivered(int, std::uint32_t) override { return true; }
  std::span<const void* const> Sources(int half, std::uint32_t chunk) override {
    source_ = in_ + chunking_.RangeOf(half, chunk).begin * element_bytes_;
    return {&source_, 1};
  }
  std::byte* Destination(int half, std::uint32_t chunk) override {
    return out_ + chunking_.RangeOf(half, chunk).begin * element_bytes_;
  }
  void Done(int, std::uint32_t) override {}

 private:
  const Chunking& chunking_;
  std::size_t element_bytes_;
  const std::byte* in_;
  std::byte* out_;
  const void* source_ = nullptr;
};

}  // namespace glim::hfreduce
