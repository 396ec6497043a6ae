#include "sdk/hfreduce/node/chunk_counters.h"

#include <atomic>

namespace glim::hfreduce {

void ChunkCounters::SetArrived(int half, std::uint64_t chunks) {
  segment_.own().arrived[half].Set(chunks);
  Beat();
  // Nobody can do anything with the chunk before the last one has delivered it.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (AllArrived(half, chunks)) RingWhoReduces();
}

bool ChunkCounters::AllArrived(int half, std::uint64_t chunks) const {
  for (std::uint32_t rank = 0; rank < segment_.ranks(); ++rank) {
    if (segment_.rank(rank).arrived[half].Get() < chunks) return false;
  }
  return true;
}

bool ChunkCounters::AllTook(int half, std::uint64_t chunks) const {
  for (std::uint32_t rank = 0; rank < segment_.ranks(); ++rank) {
    if (segment_.rank(rank).taken[half].Get() < chunks) return false;
  }
  return true;
}

void ChunkCounters::SetResult(int half, std::uint64_t number) {
#if defined(__x86_64__)
  __builtin_ia32_sfence();  // the result may have been written past the caches
#endif
  segment_.header().ready[half][number % kReadyFlags].Set(number + 1);
}

bool ChunkCounters::HasResult(int half, std::uint64_t number) const {
  return segment_.header().ready[half][number % kReadyFlags].Get() > number;
}

void ChunkCounters::Beat() {
  Counter& beat = segment_.own().beat;
  beat.Set(beat.value.load(std::memory_order_relaxed) + 1);
}

std::uint64_t ChunkCounters::Beats() const {
  std::uint64_t sum = 0;
  for (std::uint32_t rank = 0; rank < segment_.ranks(); ++rank) sum += segment_.rank(rank).beat.Get();
  return sum;
}

void ChunkCounters::RingWhoReduces() {
  if (reducer_ == Reducer::kLeader) {
    segment_.bell().RingOne(0);
  } else {
    segment_.bell().RingOthers();
  }
}

}  // namespace glim::hfreduce
