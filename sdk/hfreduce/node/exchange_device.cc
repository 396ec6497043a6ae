// The device's part of Exchange: chunks are asked for ahead, as far as there is room, and count once their copy is
// done.
#include <algorithm>

#include "sdk/hfreduce/kernels/reduce.h"
#include "sdk/hfreduce/node/exchange.h"

namespace glim::hfreduce {

Status Exchange::BeginOnDevice() {
  const OnDevice& there = operation_.on_device;
  fetches_ = stages_ && there.in;
  stores_ = there.out && wants() && !operation_.one_result && operation_.elements > 0;
  if (!fetches_ && !stores_) return Status::Ok();
  if (device_ == nullptr) return Status(StatusCode::kFailedPrecondition, "this process has no device in use");
  if (Status status = segment_.ReserveStage(); !status.ok()) return status;
  if (Status status = device_->Begin(there); !status.ok()) return status;
  if (fetches_ && !paired_) device_->Pin(segment_.StageOf(segment_.local_rank()), segment_.stage_bytes());
  const std::size_t chunks = paired_ && fetches_        ? static_cast<std::size_t>(halves_) * stage_slots_
                             : each_reduces_ && stores_ ? 1
                                                        : 0;
  if (chunks == 0) return Status::Ok();
  const Result<std::byte*> bounce = device_->Bounce(chunks * slot_bytes_);
  if (bounce.ok()) bounce_ = *bounce;
  return bounce.status();
}

// Into the staging slot from where the others read; with a partner into memory of its own: the slot is for the sum.
std::byte* Exchange::FetchPlace(int h, std::uint32_t chunk) {
  const Half& half = half_[h];
  if (paired_) {
    const std::uint32_t used = std::min(half.offered, half.delivered);
    if (chunk >= used + stage_slots_) return nullptr;
    return bounce_ + (h * std::size_t{stage_slots_} + chunk % stage_slots_) * slot_bytes_;
  }
  if ((chunk > 0 || swap_) && !Agreed()) return nullptr;
  if (chunk >= stage_slots_ && !SourcesRead(h, chunk - stage_slots_)) return nullptr;
  return StageSlot(segment_.local_rank(), h, chunk);
}

bool Exchange::FetchNext(int h) {
  Half& half = half_[h];
  bool any = false;
  while (half.fetching < half.count) {
    std::byte* const to = FetchPlace(h, half.fetching);
    if (to == nullptr) break;
    const Range range = chunking_.RangeOf(h, half.fetching);
    const std::size_t element = SizeOf(operation_.type);
    half.fetches.push_back(device_->ToHost(to, operation_.in + range.begin * element, range.count * element));
    ++half.fetching;
    any = true;
  }
  while (!half.fetches.empty() && device_->Done(half.fetches.front()) && !segment_.failed()) {
    half.fetches.pop_front();
    ++half.fetched;
    if (!paired_) Delivered(h);
    any = true;
  }
  return any;
}

// Null: not there yet.
const std::byte* Exchange::StoreSource(int h, std::uint32_t chunk) {
  if (way_ == Way::kEach) {
    if (!Arrived(h, chunk)) return nullptr;
    hfreduce::Reduce({.type = operation_.type, .op = operation_.op, .divisor = operation_.divisor}, bounce_,
                     Sources(h, chunk), chunking_.RangeOf(h, chunk).count);
    return bounce_;
  }
  if (way_ == Way::kFromRoot) {
    if (!Arrived(h, chunk)) return nullptr;
    if (in_of_[operation_.root] == nullptr) device_->Pin(segment_.StageOf(operation_.root), segment_.stage_bytes());
    return static_cast<const std::byte*>(Sources(h, chunk)[0]);
  }
  if (!HasResult(h, chunk)) return nullptr;
  if (one_place_ == nullptr) device_->Pin(segment_.Results(), segment_.result_bytes());
  const std::byte* const result = ResultOf(h, chunk);
  return gathers_ && !PassPart(h, chunk, result) ? nullptr : result;
}

bool Exchange::StoreNext(int h) {
  Half& half = half_[h];
  bool any = false;
  if (half.storing < half.count) {
    if (const std::byte* const from = StoreSource(h, half.storing)) {
      const Range range = chunking_.RangeOf(h, half.storing);
      const std::size_t element = SizeOf(operation_.type);
      half.stores.push_back(device_->ToDevice(operation_.out + range.begin * element, from, range.count * element));
      ++half.storing;
      any = true;
    }
  }
  while (!half.stores.empty() && device_->Done(half.stores.front()) && !segment_.failed()) {
    half.stores.pop_front();
    Took(h);
    any = true;
  }
  return any;
}

}  // namespace glim::hfreduce
