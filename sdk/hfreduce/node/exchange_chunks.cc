// The chunks' part of Exchange: into the segment, out of it, and who reduces which.
#include <algorithm>
#include <cstring>

#include "sdk/hfreduce/kernels/reduce.h"
#include "sdk/hfreduce/node/exchange.h"

namespace glim::hfreduce {

void CopyBytes(void* to, const void* from, std::size_t bytes, bool stream) {
  if (!stream) {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return;
  }
  constexpr std::size_t kWord = sizeof(std::int64_t);
  const std::size_t words = bytes / kWord;
  Reduce({.type = DType::kI64, .op = ReduceOp::kSum, .stream = true}, to, std::span(&from, 1), words);
  std::memcpy(static_cast<std::byte*>(to) + words * kWord, static_cast<const std::byte*>(from) + words * kWord,
              bytes % kWord);
#if defined(__x86_64__)
  __builtin_ia32_sfence();  // such stores are not ordered by a release
#endif
}

void Exchange::Beat() {
  Counter& beat = segment_.own().beat;
  beat.Set(beat.value.load(std::memory_order_relaxed) + 1);
}

void Exchange::RingWhoReduces() {
  if (reducer_ == Reducer::kLeader) {
    segment_.bell().RingOne(0);
  } else {
    segment_.bell().RingOthers();
  }
}

std::byte* Exchange::StageSlot(std::uint32_t rank, int half, std::uint32_t chunk) {
  const std::size_t slot = (half_[half].base + chunk) % stage_slots_ + half * std::size_t{stage_slots_};
  return segment_.StageOf(rank) + slot * slot_bytes_;
}

std::byte* Exchange::ResultSlot(int half, std::uint32_t chunk) {
  const std::size_t slot = (half_[half].base + chunk) % result_slots_ + half * std::size_t{result_slots_};
  return segment_.Results() + slot * slot_bytes_;
}

bool Exchange::DeliverOne() {
  if (paired_ || fetches_) {
    bool any = false;
    for (int h = 0; h < halves_; ++h) {
      if (fetches_) any = FetchNext(h) || any;
      if (!paired_) continue;
      any = OfferPart(h) || any;
      any = DeliverPart(h) || any;
    }
    return any;
  }
  int next = -1;
  for (int h = 0; h < halves_; ++h) {
    if (half_[h].delivered == half_[h].count) continue;
    if (next < 0 || half_[h].delivered < half_[next].delivered) next = h;
  }
  if (next < 0) return false;
  Half& half = half_[next];
  const std::uint32_t chunk = half.delivered;
  // Before all have posted this operation, one may still read its staged chunk of the one before (Way::kEach); the
  // other slots are free. (Not those that a partner may still gather from.)
  if ((chunk > 0 || swap_) && !Agreed()) return false;
  if (chunk >= stage_slots_ && !SourcesRead(next, chunk - stage_slots_)) return false;
  const Range range = chunking_.RangeOf(next, chunk);
  const std::size_t element = SizeOf(operation_.type);
  std::memcpy(StageSlot(segment_.local_rank(), next, chunk), operation_.in + range.begin * element,
              range.count * element);
  Delivered(next);
  return true;
}

// One more chunk of this half.
void Exchange::Delivered(int h) {
  Half& half = half_[h];
  ++half.delivered;
  segment_.own().arrived[h].Set(half.base + half.delivered);
  Beat();
  // Nobody can do anything with the chunk before the last one has delivered it.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (AllArrived(h, half.base + half.delivered)) RingWhoReduces();
}

bool Exchange::SourcesRead(int half, std::uint32_t chunk) {
  const std::uint64_t number = half_[half].base + chunk;
  if (way_ == Way::kFromRoot) return AllTook(half, number + 1);
  if (reducer_ == Reducer::kLeader) return segment_.header().reduced[half].Get() > number;
  return HasResult(half, chunk);
}

bool Exchange::AllTook(int half, std::uint64_t chunks) {
  for (std::uint32_t rank = 0; rank < segment_.ranks(); ++rank) {
    if (segment_.rank(rank).taken[half].Get() < chunks) return false;
  }
  return true;
}

bool Exchange::AllArrived(int half, std::uint64_t chunks) {
  for (std::uint32_t rank = 0; rank < segment_.ranks(); ++rank) {
    if (segment_.rank(rank).arrived[half].Get() < chunks) return false;
  }
  return true;
}

bool Exchange::Arrived(int half, std::uint32_t chunk) {
  return Agreed() && AllArrived(half, half_[half].base + chunk + 1);
}

std::span<const void* const> Exchange::Sources(int half, std::uint32_t chunk) {
  const std::size_t offset = chunking_.RangeOf(half, chunk).begin * SizeOf(operation_.type);
  std::size_t count = 0;
  for (std::uint32_t rank = 0; rank < segment_.ranks(); ++rank) {
    if (!Bit(operation_.delivers, rank)) continue;
    const LocalPair* const pair = pairs_ ? segment_.PairOf(rank) : nullptr;
    if (pair != nullptr && pair->second == rank) continue;
    const std::byte* whole = in_of_[rank];
    if (reducer_ == Reducer::kLeader && rank == 0 && segment_.local_rank() == 0 && !stages_) whole = operation_.in;
    sources_[count++] = whole != nullptr ? whole + offset : StageSlot(rank, half, chunk);
  }
  return {sources_, count};
}

bool Exchange::HasResult(int half, std::uint32_t chunk) {
  const std::uint64_t number = half_[half].base + chunk;
  return segment_.header().ready[half][number % kReadyFlags].Get() > number;
}

std::byte* Exchange::ResultPlace(int half, std::uint32_t chunk) {
  if (!Agreed()) return nullptr;
  if (one_place_ != nullptr) return one_place_ + chunking_.RangeOf(half, chunk).begin * SizeOf(operation_.type);
  const std::uint64_t number = half_[half].base + chunk;
  if (number >= result_slots_ && !AllTook(half, number - result_slots_ + 1)) return nullptr;
  return ResultSlot(half, chunk);
}

void Exchange::PublishResult(int half, std::uint32_t chunk) {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
  const std::uint64_t number = half_[half].base + chunk;
  segment_.header().ready[half][number % kReadyFlags].Set(number + 1);
  segment_.own().reducing.Set(0);
  Beat();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  // Not at every chunk, but at each that somebody can be left waiting for: the last ones, and one that came late.
  const bool none_left = segment_.header().claimed.Get() >= half_[half].base + half_[half].count;
  if ((chunk + 1) % ring_every_ == 0 || none_left || HasResult(half, chunk + 1)) segment_.bell().RingOthers();
}

void Exchange::PublishReduced(int half, std::uint32_t chunks) {
  segment_.header().reduced[half].Set(half_[half].base + chunks);
  Beat();
  if (half_[half].count > stage_slots_) segment_.bell().RingOthers();
}

std::optional<std::uint32_t> Exchange::Claim() {
  Counter& claimed = segment_.header().claimed;
  const Half& half = half_[0];
  std::uint64_t next = claimed.Get();
  for (;;) {
    const std::uint64_t number = std::max(next, half.base);  // not every operation's chunks were claimed
    if (number >= half.base + half.count) return std::nullopt;
    const auto chunk = static_cast<std::uint32_t>(number - half.base);
    if (!Arrived(0, chunk)) return std::nullopt;
    if (chunk >= kReadyFlags && !HasResult(0, chunk - kReadyFlags)) return std::nullopt;
    if (way_ == Way::kRing && ResultPlace(0, chunk) == nullptr) return std::nullopt;
    if (claimed.value.compare_exchange_weak(next, number + 1, std::memory_order_acq_rel, std::memory_order_acquire)) {
      segment_.own().reducing.Set(number + 1);
      return chunk;
    }
  }
}

bool Exchange::TakeOne() {
  if (!Agreed()) return false;
  for (int h = 0; h < halves_; ++h) {
    if (half_[h].gathered < half_[h].count && GatherPart(h)) return true;
    if (half_[h].taken < half_[h].count && TakeNext(h)) return true;
  }
  return false;
}

const std::byte* Exchange::ResultOf(int h, std::uint32_t chunk) {
  if (one_place_ == nullptr) return ResultSlot(h, chunk);
  return one_place_ + chunking_.RangeOf(h, chunk).begin * SizeOf(operation_.type);
}

bool Exchange::TakeNext(int h) {
  if (stores_) return StoreNext(h);
  Half& half = half_[h];
  const std::uint32_t chunk = half.taken;
  const Range range = chunking_.RangeOf(h, chunk);
  const std::size_t element = SizeOf(operation_.type);
  const std::size_t bytes = range.count * element;
  if (way_ == Way::kEach) {
    if (wants()) {
      if (!Arrived(h, chunk)) return false;
      Reduce({.type = operation_.type, .op = operation_.op, .divisor = operation_.divisor}, operation_.out,
             Sources(h, chunk), range.count);
    }
  } else if (way_ == Way::kFromRoot) {
    if (wants()) {
      if (!Arrived(h, chunk)) return false;
      CopyBytes(operation_.out + range.begin * element, Sources(h, chunk)[0], bytes, large());
    }
  } else {
    if (!HasResult(h, chunk)) return false;
    const std::byte* const from = ResultOf(h, chunk);
    Range own = range;
    if (gathers_) {
      if (!PassPart(h, chunk, from)) return false;
      own = swap_->OwnPart(range);
    }
    if (wants() && way_ != Way::kInto && !operation_.one_result && !lies_there()) {
      CopyBytes(operation_.out + own.begin * element, from + (own.begin - range.begin) * element, own.count * element,
                large());
    }
  }
  Took(h);
  return true;
}

// One more chunk of this half.
void Exchange::Took(int h) {
  Half& half = half_[h];
  ++half.taken;
  if (wants()) segment_.own().taken[h].Set(half.base + half.taken);
  Beat();
  // The last one frees the slot, or the buffer that was read.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const bool waited_for =
      way_ == Way::kFromRoot || way_ == Way::kOnePlace || (way_ == Way::kRing && half.count > result_slots_);
  if (waited_for && AllTook(h, half.base + half.taken)) RingWhoReduces();
}

}  // namespace glim::hfreduce
