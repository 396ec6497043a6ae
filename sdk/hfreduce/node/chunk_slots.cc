#include "sdk/hfreduce/node/chunk_slots.h"

#include <algorithm>
#include <string>
#include <utility>

#include "sdk/base/check.h"

namespace glim::hfreduce {

Status ChunkSlots::Check(const Segment& segment, int halves, std::size_t slot_bytes) {
  const std::size_t least = 2 * slot_bytes * static_cast<std::size_t>(halves);
  for (const auto& [field, bytes] :
       {std::pair("stage_bytes", segment.stage_bytes()), std::pair("result_bytes", segment.result_bytes())}) {
    if (bytes >= least) continue;
    return InvalidArgument(
        field,
        "an area of " + std::to_string(bytes) + " bytes is too small for chunks of " + std::to_string(slot_bytes),
        "use at least " + std::to_string(least));
  }
  return Status::Ok();
}

ChunkSlots::ChunkSlots(Segment& segment, int halves, std::size_t slot_bytes)
    : segment_(segment),
      halves_(halves),
      slot_bytes_(slot_bytes),
      stage_slots_(static_cast<std::uint32_t>(segment.stage_bytes() / halves / slot_bytes)),
      result_slots_(static_cast<std::uint32_t>(
          std::min<std::size_t>(segment.result_bytes() / halves / slot_bytes, kReadyFlags))) {}

void ChunkSlots::Begin(const Chunking& chunking) {
  chunking_ = chunking;
  for (int h = 0; h < kHalves; ++h) {
    half_[h].base += half_[h].count;
    half_[h].count = chunking.ChunksOf(h);
    GLIM_CHECK(h < halves_ || half_[h].count == 0, "chunks of a half that this exchange has no slots for");
  }
}

std::byte* ChunkSlots::Stage(std::uint32_t local_rank, int half, std::uint32_t chunk) {
  const std::size_t slot = NumberOf(half, chunk) % stage_slots_ + half * std::size_t{stage_slots_};
  return segment_.StageOf(local_rank) + slot * slot_bytes_;
}

std::byte* ChunkSlots::Result(int half, std::uint32_t chunk) {
  const std::size_t slot = NumberOf(half, chunk) % result_slots_ + half * std::size_t{result_slots_};
  return segment_.Results() + slot * slot_bytes_;
}

}  // namespace glim::hfreduce
