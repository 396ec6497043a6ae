// How the results of chunks get to those who take them: who reduces a chunk finds room for its result and says that it
// is there; every process that wants it copies it out, or finds it in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "sdk/base/status.h"
#include "sdk/hfreduce/node/agreement.h"
#include "sdk/hfreduce/node/chunk_counters.h"
#include "sdk/hfreduce/node/chunk_slots.h"
#include "sdk/hfreduce/node/delivery.h"
#include "sdk/hfreduce/node/device_stage.h"
#include "sdk/hfreduce/node/segment.h"

namespace glim::hfreduce {

// Of one process, from operation to operation. Not thread-safe. What is referred to must outlive it.
class Results {
 public:
  // `ring_every`: results; with fewer processors than processes, one that is woken keeps another from its work.
  Results(Segment& segment, Agreement& agreement, ChunkSlots& slots, ChunkCounters& counters, Delivery& delivery,
          std::uint32_t ring_every)
      : segment_(segment),
        agreement_(agreement),
        slots_(slots),
        counters_(counters),
        delivery_(delivery),
        ring_every_(ring_every) {}

  // Results go to the device: `device` is null otherwise. RESOURCE_EXHAUSTED.
  Status UseDevice(DeviceStage* device);
  // Of the operation that the agreement, the slots and the delivery have begun.
  void Begin();
  // Nothing of an operation that cannot be done is taken.
  void Abandon();

  // --- who reduces
  // Next chunk of half 0 that nobody has begun with and that can be reduced now. It must be reduced. (kAnyProcess)
  std::optional<std::uint32_t> Claim();
  // Where its result is put or lies; null: the slot is still being read. (kRing, kOnePlace)
  std::byte* Place(int half, std::uint32_t chunk);
  void Publish(int half, std::uint32_t chunk);
  // Nobody reads the sources of this half's first `chunks` chunks any more. (Reducer::kLeader)
  void PublishReduced(int half, std::uint32_t chunks);

  // --- who takes
  // At most one chunk's work. True: something was done.
  bool TakeOne();
  // The next one of this half. False: it has no result yet.
  bool TakeNext(int half);
  // All are taken, and no other process copies from this one's own buffer any more.
  bool done() const;
  // Whether this process' part of the result is copied to its device.
  bool stores() const;
  // Where the one result lies that everybody reads; until local rank 0 uses the buffer again.
  std::optional<std::uint64_t> Offset() const;

 private:
  struct Half {
    std::uint32_t count = 0;
    std::uint32_t taken = 0;
    std::uint32_t storing = 0;         // given to the device, but may not be there yet
    std::deque<std::uint64_t> stores;  // numbers of copies in flight
  };

  bool HasResult(int half, std::uint32_t chunk) const;
  const std::byte* Of(int half, std::uint32_t chunk) const;
  // False: it cannot be copied yet.
  bool CopyOut(int half, std::uint32_t chunk);
  bool Store(int half);
  // Null: not there yet.
  const std::byte* StoreSource(int half, std::uint32_t chunk);
  void ReduceForItself(int half, std::uint32_t chunk, std::byte* to);
  void Took(int half);

  Segment& segment_;
  Agreement& agreement_;
  ChunkSlots& slots_;
  ChunkCounters& counters_;
  Delivery& delivery_;
  std::uint32_t ring_every_;
  DeviceStage* device_ = nullptr;
  std::byte* bounce_ = nullptr;  // pinned, of the device's stage
  Half half_[kHalves];
};

}  // namespace glim::hfreduce
