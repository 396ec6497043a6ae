#include "sdk/hfreduce/node/results.h"

#include <algorithm>
#include <atomic>

#include "sdk/hfreduce/kernels/reduce.h"
#include "sdk/hfreduce/node/copy_bytes.h"

namespace glim::hfreduce {

bool Results::stores() const {
  const NodeOperation& operation = agreement_.operation();
  return operation.on_device.out && agreement_.wants() && !operation.one_result && operation.elements() > 0;
}

Status Results::UseDevice(DeviceStage* device) {
  device_ = device;
  if (device_ == nullptr || !agreement_.each_reduces()) return Status::Ok();
  const Result<std::byte*> bounce = device_->Bounce(slots_.slot_bytes());
  if (bounce.ok()) bounce_ = *bounce;
  return bounce.status();
}

void Results::Begin() {
  for (int h = 0; h < kHalves; ++h) {
    half_[h].count = slots_.Count(h);
    half_[h].taken = half_[h].storing = 0;
    if (!agreement_.wants()) counters_.SetTaken(h, slots_.End(h));
  }
}

void Results::Abandon() {
  for (Half& half : half_) half.taken = half.storing = half.count;
}

bool Results::HasResult(int half, std::uint32_t chunk) const {
  return counters_.HasResult(half, slots_.NumberOf(half, chunk));
}

std::byte* Results::Place(int half, std::uint32_t chunk) {
  if (!agreement_.Agreed()) return nullptr;
  if (std::byte* const whole = agreement_.one_place(); whole != nullptr) {
    return whole + slots_.RangeOf(half, chunk).begin * SizeOf(agreement_.operation().element());
  }
  const std::uint64_t number = slots_.NumberOf(half, chunk);
  const std::uint32_t ring = slots_.result_slots();
  if (number >= ring && !counters_.AllTook(half, number - ring + 1)) return nullptr;
  return slots_.Result(half, chunk);
}

void Results::Publish(int half, std::uint32_t chunk) {
  counters_.SetResult(half, slots_.NumberOf(half, chunk));
  segment_.own().reducing.Set(0);
  counters_.Beat();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // Not at every chunk, but at each that somebody can be left waiting for: the last ones, and one that came late.
  const bool none_left = segment_.header().claimed.Get() >= slots_.End(half);
  if ((chunk + 1) % ring_every_ == 0 || none_left || HasResult(half, chunk + 1)) counters_.RingOthers();
}

void Results::PublishReduced(int half, std::uint32_t chunks) {
  counters_.SetReduced(half, slots_.First(half) + chunks);
  counters_.Beat();
  if (slots_.Count(half) > slots_.stage_slots()) counters_.RingOthers();
}

std::optional<std::uint32_t> Results::Claim() {
  Counter& claimed = segment_.header().claimed;
  const std::uint64_t first = slots_.First(0);
  std::uint64_t next = claimed.Get();
  for (;;) {
    const std::uint64_t number = std::max(next, first);  // not every operation's chunks were claimed
    if (number >= slots_.End(0)) return std::nullopt;
    const auto chunk = static_cast<std::uint32_t>(number - first);
    if (!delivery_.Arrived(0, chunk)) return std::nullopt;
    if (chunk >= kReadyFlags && !HasResult(0, chunk - kReadyFlags)) return std::nullopt;
    if (agreement_.way() == Way::kRing && Place(0, chunk) == nullptr) return std::nullopt;
    if (claimed.value.compare_exchange_weak(next, number + 1, std::memory_order_acq_rel, std::memory_order_acquire)) {
      segment_.own().reducing.Set(number + 1);
      return chunk;
    }
  }
}

const std::byte* Results::Of(int half, std::uint32_t chunk) const {
  const std::byte* const whole = agreement_.one_place();
  if (whole == nullptr) return slots_.Result(half, chunk);
  return whole + slots_.RangeOf(half, chunk).begin * SizeOf(agreement_.operation().element());
}

bool Results::TakeOne() {
  if (!agreement_.Agreed()) return false;
  for (int h = 0; h < slots_.halves(); ++h) {
    if (half_[h].taken < half_[h].count && TakeNext(h)) return true;
  }
  return false;
}

bool Results::TakeNext(int half) {
  if (device_ != nullptr) return Store(half);
  if (!CopyOut(half, half_[half].taken)) return false;
  Took(half);
  return true;
}

void Results::ReduceForItself(int half, std::uint32_t chunk, std::byte* to) {
  const NodeOperation& operation = agreement_.operation();
  Reduce({.type = operation.element(), .op = operation.signature.op, .divisor = operation.divisor}, to,
         delivery_.Sources(half, chunk), slots_.RangeOf(half, chunk).count);
}

bool Results::CopyOut(int half, std::uint32_t chunk) {
  const NodeOperation& operation = agreement_.operation();
  const Way way = agreement_.way();
  const Range range = slots_.RangeOf(half, chunk);
  const std::size_t element = SizeOf(operation.element());
  if (way == Way::kEach) {
    if (!agreement_.wants()) return true;
    if (!delivery_.Arrived(half, chunk)) return false;
    ReduceForItself(half, chunk, operation.out);
    return true;
  }
  const void* from = nullptr;
  if (way == Way::kFromRoot) {
    if (!agreement_.wants()) return true;
    if (!delivery_.Arrived(half, chunk)) return false;
    from = delivery_.Sources(half, chunk)[0];
  } else {
    if (!HasResult(half, chunk)) return false;
    if (!agreement_.wants() || way == Way::kInto || operation.one_result || agreement_.lies_here()) return true;
    from = Of(half, chunk);
  }
  CopyBytes(operation.out + range.begin * element, from, range.count * element, operation.large());
  return true;
}

const std::byte* Results::StoreSource(int half, std::uint32_t chunk) {
  const Way way = agreement_.way();
  if (way == Way::kEach || way == Way::kFromRoot) {
    if (!delivery_.Arrived(half, chunk)) return nullptr;
    if (way == Way::kEach) {
      ReduceForItself(half, chunk, bounce_);
      return bounce_;
    }
    const std::uint32_t root = agreement_.operation().signature.root;
    if (agreement_.InOf(root) == nullptr) device_->Pin(segment_.StageOf(root), segment_.stage_bytes());
    return static_cast<const std::byte*>(delivery_.Sources(half, chunk)[0]);
  }
  if (!HasResult(half, chunk)) return nullptr;
  if (agreement_.one_place() == nullptr) device_->Pin(segment_.Results(), segment_.result_bytes());
  return Of(half, chunk);
}

bool Results::Store(int h) {
  Half& half = half_[h];
  bool any = false;
  if (half.storing < half.count) {
    if (const std::byte* const from = StoreSource(h, half.storing)) {
      const NodeOperation& operation = agreement_.operation();
      const Range range = slots_.RangeOf(h, half.storing);
      const std::size_t element = SizeOf(operation.element());
      half.stores.push_back(device_->ToDevice(operation.out + range.begin * element, from, range.count * element));
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

// One more chunk of this half.
void Results::Took(int h) {
  Half& half = half_[h];
  ++half.taken;
  const std::uint64_t chunks = slots_.First(h) + half.taken;
  if (agreement_.wants()) counters_.SetTaken(h, chunks);
  counters_.Beat();
  // The last one frees the slot, or the buffer that was read.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const Way way = agreement_.way();
  const bool waited_for =
      way == Way::kFromRoot || way == Way::kOnePlace || (way == Way::kRing && half.count > slots_.result_slots());
  if (waited_for && counters_.AllTook(h, chunks)) counters_.RingWhoReduces();
}

bool Results::done() const {
  for (const Half& half : half_) {
    if (half.taken < half.count) return false;
  }
  const bool read_by_others = (agreement_.way() == Way::kFromRoot && agreement_.gives()) ||
                              (agreement_.lies_here() && !agreement_.operation().one_result && agreement_.wants());
  for (int h = 0; h < kHalves; ++h) {
    if (read_by_others && !counters_.AllTook(h, slots_.End(h))) return false;
  }
  return true;
}

std::optional<std::uint64_t> Results::Offset() const {
  if (agreement_.one_place() == nullptr) return std::nullopt;
  return segment_.OffsetOf(agreement_.one_place(), agreement_.operation().bytes());
}

}  // namespace glim::hfreduce
