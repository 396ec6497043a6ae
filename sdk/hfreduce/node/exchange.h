// One process' part in the operations of its node: it tells the others what it was asked for and finds out whether they
// were asked for the same (agreement.h), delivers its chunks (delivery.h), and takes the results (results.h). Who
// reduces stands elsewhere: any process (node_reduce.h) or the leader alone (segment_side.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/hfreduce/node/agreement.h"
#include "sdk/hfreduce/node/chunk_counters.h"
#include "sdk/hfreduce/node/chunk_slots.h"
#include "sdk/hfreduce/node/delivery.h"
#include "sdk/hfreduce/node/device_stage.h"
#include "sdk/hfreduce/node/node_operation.h"
#include "sdk/hfreduce/node/peer_watch.h"
#include "sdk/hfreduce/node/results.h"
#include "sdk/hfreduce/node/segment.h"

namespace glim::hfreduce {

// Not thread-safe. The segment must outlive it.
class Exchange {
 public:
  // A chunk has at most slot_bytes. INVALID_ARGUMENT: an area of the segment has less than two slots for each of the
  // `halves` that chunks may have.
  static Result<std::unique_ptr<Exchange>> Create(Segment& segment, Reducer reducer, int halves,
                                                  std::size_t slot_bytes);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // For buffers on a device; before the first operation. It must outlive the exchange. The one who sleeps must call
  // PrepareWake before a last look.
  void UseDevice(DeviceStage& device) { device_ = &device; }
  void PrepareWake() {
    if (device_ != nullptr) device_->PrepareWake();
  }
  // No copy from or to a device is under way: after a failure, buffers are the caller's again only then.
  bool Quiet() { return device_ == nullptr || device_->Idle(); }

  // The one before must have ended. Chunks of at most slot_bytes. The buffers stay untouched until it has ended.
  void Begin(const NodeOperation& operation, const Chunking& chunking, bool each_reduces);
  // Whether all processes have posted the same operation. If not the same, the segment fails.
  bool Agreed() { return agreement_.Agreed(); }
  // All delivered and taken, and no other process needs this one's buffers any more. Call until true: it tells others.
  bool Ended();
  // As PeerWatch's.
  Status Drive(const std::function<bool()>& step, const std::function<bool()>& ended, Duration timeout) {
    return watch_.Drive(
        step, ended, [this] { PrepareWake(); }, timeout);
  }

  Segment& segment() { return segment_; }
  const Agreement& agreement() const { return agreement_; }
  const Chunking& chunking() const { return slots_.chunking(); }
  const ChunkCounters& counters() const { return counters_; }
  Delivery& delivery() { return delivery_; }
  Results& results() { return results_; }
  PeerWatch& watch() { return watch_; }

 private:
  Exchange(Segment& segment, Reducer reducer, int halves, std::size_t slot_bytes, bool spins);
  Status PrepareDevice();

  Segment& segment_;
  ChunkSlots slots_;
  ChunkCounters counters_;
  Agreement agreement_;
  Delivery delivery_;
  Results results_;
  PeerWatch watch_;
  DeviceStage* device_ = nullptr;
  bool ended_ = true;
};

}  // namespace glim::hfreduce
