// Where the chunks of an operation lie in the segment. Chunks are numbered on from operation to operation; their places
// in a ring of slots follow from the number.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sdk/base/result.h"
#include "sdk/hfreduce/node/segment.h"
#include "sdk/hfreduce/tree/chunking.h"

namespace glim::hfreduce {

// Of one process; the same in all of the node. Not thread-safe. The segment must outlive it.
class ChunkSlots {
 public:
  // INVALID_ARGUMENT: an area of the segment has less than two slots for each of the `halves` that chunks may have.
  static Status Check(const Segment& segment, int halves, std::size_t slot_bytes);
  ChunkSlots(Segment& segment, int halves, std::size_t slot_bytes);

  // The next operation: chunks of at most slot_bytes.
  void Begin(const Chunking& chunking);

  int halves() const { return halves_; }
  std::size_t slot_bytes() const { return slot_bytes_; }
  std::uint32_t stage_slots() const { return stage_slots_; }    // of a half
  std::uint32_t result_slots() const { return result_slots_; }  // of a half, at most kReadyFlags
  const Chunking& chunking() const { return chunking_; }
  Range RangeOf(int half, std::uint32_t chunk) const { return chunking_.RangeOf(half, chunk); }
  std::uint32_t Count(int half) const { return half_[half].count; }
  // Of the operation's first chunk; of a chunk; behind the last.
  std::uint64_t First(int half) const { return half_[half].base; }
  std::uint64_t NumberOf(int half, std::uint32_t chunk) const { return half_[half].base + chunk; }
  std::uint64_t End(int half) const { return half_[half].base + half_[half].count; }

  std::byte* Stage(std::uint32_t local_rank, int half, std::uint32_t chunk);
  std::byte* Result(int half, std::uint32_t chunk);

 private:
  struct Half {
    std::uint64_t base = 0;
    std::uint32_t count = 0;
  };

  Segment& segment_;
  int halves_;
  std::size_t slot_bytes_;
  std::uint32_t stage_slots_;
  std::uint32_t result_slots_;
  Chunking chunking_;
  Half half_[kHalves];
};

}  // namespace glim::hfreduce
