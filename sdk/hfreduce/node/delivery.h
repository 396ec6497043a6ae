// How a process' chunks get to where its node reduces them: not at all if the buffer lies in the segment, copied into
// staging slots, or fetched from a device into them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "sdk/base/status.h"
#include "sdk/hfreduce/node/agreement.h"
#include "sdk/hfreduce/node/chunk_counters.h"
#include "sdk/hfreduce/node/chunk_slots.h"
#include "sdk/hfreduce/node/device_stage.h"
#include "sdk/hfreduce/node/segment.h"

namespace glim::hfreduce {

// Of one process, from operation to operation. Not thread-safe. What is referred to must outlive it.
class Delivery {
 public:
  Delivery(Segment& segment, Agreement& agreement, ChunkSlots& slots, ChunkCounters& counters)
      : segment_(segment), agreement_(agreement), slots_(slots), counters_(counters) {}

  // Of the operation that the agreement has begun. RESOURCE_EXHAUSTED: no memory behind the staging area.
  Status Prepare();
  // Chunks come from the device: `device` is null otherwise.
  void UseDevice(DeviceStage* device);
  // The slots have begun the operation too. Chunks that need not be copied count as delivered.
  void Begin();
  // Nothing of an operation that cannot be done is delivered.
  void Abandon();

  // At most one chunk's work. True: something was done.
  bool DeliverOne();
  bool done() const;
  bool stages() const { return stages_; }
  bool fetches() const { return stages_ && agreement_.operation().on_device.in; }

  bool Arrived(int half, std::uint32_t chunk);
  // Where the chunk lies that Arrived, in the order of local ranks. Valid until the next call.
  std::span<const void* const> Sources(int half, std::uint32_t chunk);

 private:
  struct Half {
    std::uint32_t count = 0;
    std::uint32_t delivered = 0;
    std::uint32_t fetching = 0;         // asked for, of those on a device
    std::deque<std::uint64_t> fetches;  // numbers of copies in flight
  };

  bool Fetch(int half);
  // Of this process, for its next chunk; null: others may still read there, or have not posted the operation yet.
  std::byte* Slot(int half, std::uint32_t chunk);
  bool SourcesRead(int half, std::uint32_t chunk);
  void Delivered(int half);

  Segment& segment_;
  Agreement& agreement_;
  ChunkSlots& slots_;
  ChunkCounters& counters_;
  DeviceStage* device_ = nullptr;
  bool stages_ = false;
  Half half_[kHalves];
  const void* sources_[kLocalRanksMax] = {};
};

}  // namespace glim::hfreduce
