#include "sdk/hfreduce/node/delivery.h"

#include <cstring>

namespace glim::hfreduce {

Status Delivery::Prepare() {
  const NodeOperation& operation = agreement_.operation();
  // The leader reads its own buffer in place: nobody else does.
  const bool reads_own =
      counters_.reducer() == Reducer::kLeader && segment_.local_rank() == 0 && !operation.on_device.in;
  stages_ = agreement_.gives() && operation.elements() > 0 && !reads_own &&
            (agreement_.each_reduces() || !segment_.OffsetOf(operation.in, operation.bytes()));
  return stages_ ? segment_.ReserveStage() : Status::Ok();
}

void Delivery::UseDevice(DeviceStage* device) {
  device_ = device;
  if (device_ != nullptr) device_->Pin(segment_.StageOf(segment_.local_rank()), segment_.stage_bytes());
}

void Delivery::Begin() {
  for (int h = 0; h < kHalves; ++h) {
    Half& half = half_[h];
    half.count = slots_.Count(h);
    half.delivered = stages_ ? 0 : half.count;
    half.fetching = 0;
    if (!stages_) segment_.own().arrived[h].Set(slots_.End(h));
  }
}

void Delivery::Abandon() {
  for (Half& half : half_) half.delivered = half.fetching = half.count;
}

bool Delivery::done() const {
  for (const Half& half : half_) {
    if (half.delivered < half.count) return false;
  }
  return true;
}

bool Delivery::DeliverOne() {
  if (device_ != nullptr) {
    bool any = false;
    for (int h = 0; h < slots_.halves(); ++h) any = Fetch(h) || any;
    return any;
  }
  int next = -1;
  for (int h = 0; h < slots_.halves(); ++h) {
    if (half_[h].delivered == half_[h].count) continue;
    if (next < 0 || half_[h].delivered < half_[next].delivered) next = h;
  }
  if (next < 0) return false;
  const std::uint32_t chunk = half_[next].delivered;
  std::byte* const to = Slot(next, chunk);
  if (to == nullptr) return false;
  const NodeOperation& operation = agreement_.operation();
  const Range range = slots_.RangeOf(next, chunk);
  const std::size_t element = SizeOf(operation.element());
  std::memcpy(to, operation.in + range.begin * element, range.count * element);
  Delivered(next);
  return true;
}

// Chunks are asked for ahead, as far as there is room, and count once their copy is done.
bool Delivery::Fetch(int h) {
  Half& half = half_[h];
  const NodeOperation& operation = agreement_.operation();
  const std::size_t element = SizeOf(operation.element());
  bool any = false;
  while (half.fetching < half.count) {
    std::byte* const to = Slot(h, half.fetching);
    if (to == nullptr) break;
    const Range range = slots_.RangeOf(h, half.fetching);
    half.fetches.push_back(device_->ToHost(to, operation.in + range.begin * element, range.count * element));
    ++half.fetching;
    any = true;
  }
  while (!half.fetches.empty() && device_->Done(half.fetches.front()) && !segment_.failed()) {
    half.fetches.pop_front();
    Delivered(h);
    any = true;
  }
  return any;
}

std::byte* Delivery::Slot(int half, std::uint32_t chunk) {
  // Before all have posted this operation, one may still read its staged chunk of the one before (Way::kEach); the
  // other slots are free.
  if (chunk > 0 && !agreement_.Agreed()) return nullptr;
  if (chunk >= slots_.stage_slots() && !SourcesRead(half, chunk - slots_.stage_slots())) return nullptr;
  return slots_.Stage(segment_.local_rank(), half, chunk);
}

bool Delivery::SourcesRead(int half, std::uint32_t chunk) {
  const std::uint64_t number = slots_.NumberOf(half, chunk);
  if (agreement_.way() == Way::kFromRoot) return counters_.AllTook(half, number + 1);
  if (counters_.reducer() == Reducer::kLeader) return counters_.Reduced(half, number);
  return counters_.HasResult(half, number);
}

// One more chunk of this half.
void Delivery::Delivered(int h) {
  Half& half = half_[h];
  ++half.delivered;
  counters_.SetArrived(h, slots_.First(h) + half.delivered);
}

bool Delivery::Arrived(int half, std::uint32_t chunk) {
  return agreement_.Agreed() && counters_.AllArrived(half, slots_.NumberOf(half, chunk) + 1);
}

std::span<const void* const> Delivery::Sources(int half, std::uint32_t chunk) {
  const NodeOperation& operation = agreement_.operation();
  const std::size_t offset = slots_.RangeOf(half, chunk).begin * SizeOf(operation.element());
  const bool leader = counters_.reducer() == Reducer::kLeader && segment_.local_rank() == 0;
  std::size_t count = 0;
  for (std::uint32_t rank = 0; rank < segment_.ranks(); ++rank) {
    if (!operation.DeliveredBy(rank)) continue;
    const std::byte* whole = agreement_.InOf(rank);
    if (leader && rank == 0 && !stages_) whole = operation.in;
    sources_[count++] = whole != nullptr ? whole + offset : slots_.Stage(rank, half, chunk);
  }
  return {sources_, count};
}

}  // namespace glim::hfreduce
