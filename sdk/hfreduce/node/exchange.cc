#include "sdk/hfreduce/node/exchange.h"

#include <sched.h>

#include <algorithm>

#include "sdk/base/check.h"

namespace glim::hfreduce {
namespace {

std::uint32_t Processors() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return static_cast<std::uint32_t>(std::max(1, CPU_COUNT(&set)));
}

std::uint32_t RingEvery(const ChunkSlots& slots, Reducer reducer, bool spins) {
  if (spins || reducer == Reducer::kLeader) return 1;
  return std::min({slots.stage_slots() / 2, slots.result_slots() / 2, 4u});
}

}  // namespace

Result<std::unique_ptr<Exchange>> Exchange::Create(Segment& segment, Reducer reducer, int halves,
                                                   std::size_t slot_bytes) {
  if (Status status = ChunkSlots::Check(segment, halves, slot_bytes); !status.ok()) return status;
  return std::unique_ptr<Exchange>(new Exchange(segment, reducer, halves, slot_bytes, segment.ranks() <= Processors()));
}

Exchange::Exchange(Segment& segment, Reducer reducer, int halves, std::size_t slot_bytes, bool spins)
    : segment_(segment),
      slots_(segment, halves, slot_bytes),
      counters_(segment, reducer),
      agreement_(segment, counters_),
      delivery_(segment, agreement_, slots_, counters_),
      results_(segment, agreement_, slots_, counters_, delivery_, RingEvery(slots_, reducer, spins)),
      watch_(segment, agreement_, slots_, counters_, spins) {}

void Exchange::Begin(const NodeOperation& operation, const Chunking& chunking, bool each_reduces) {
  GLIM_CHECK(ended_ || segment_.failed(), "operations of an exchange follow each other");
  ended_ = false;
  Status status = segment_.failure();
  if (status.ok()) {
    agreement_.Begin(operation, each_reduces);
    status = delivery_.Prepare();
    if (status.ok()) status = PrepareDevice();
    if (!status.ok()) {
      segment_.Fail(Status(status.code(), segment_.NameOf(segment_.local_rank()) + ": " + status.message()));
    }
  }
  if (!status.ok()) {
    agreement_.Abandon();
    delivery_.Abandon();
    results_.Abandon();
    return;
  }
  slots_.Begin(chunking);
  delivery_.Begin();
  results_.Begin();
  const bool stages_at_once = delivery_.stages() && slots_.Count(0) + slots_.Count(1) == 1;
  agreement_.Post(!each_reduces, stages_at_once);
}

Status Exchange::PrepareDevice() {
  const bool fetches = delivery_.fetches();
  const bool stores = results_.stores();
  if (fetches || stores) {
    if (device_ == nullptr) return Status(StatusCode::kFailedPrecondition, "this process has no device in use");
    if (Status status = segment_.ReserveStage(); !status.ok()) return status;
    if (Status status = device_->Begin(agreement_.operation().on_device); !status.ok()) return status;
  }
  delivery_.UseDevice(fetches ? device_ : nullptr);
  return results_.UseDevice(stores ? device_ : nullptr);
}

bool Exchange::Ended() {
  if (ended_) return true;
  if (!Agreed() || !delivery_.done() || !results_.done()) return false;
  ended_ = true;
  segment_.own().finished.Set(agreement_.sequence());
  return true;
}

}  // namespace glim::hfreduce
