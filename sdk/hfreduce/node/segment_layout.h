// What lies at the head of a node's shared segment. Every field is written by one process alone, or atomic; counters
// only grow, and each has a cache line of its own. A change of anything here is a new kLayoutVersion.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sdk/hfreduce/signature/signature.h"
#include "sdk/hfreduce/tree/topology.h"

namespace glim::hfreduce {

inline constexpr std::uint64_t kLayoutMagic = 0x65646f6e6d696c67;  // "glimnode"
inline constexpr std::uint32_t kLayoutVersion = 3;
inline constexpr int kHalves = 2;
inline constexpr std::uint32_t kReadyFlags = 64;  // chunks of a half that may be reduced out of order; a power of two
inline constexpr std::uint64_t kPrivate = ~std::uint64_t{0};  // offset of a buffer that is not in the segment
inline constexpr std::size_t kCacheLine = 64;

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free,
              "atomics are shared between processes");

struct alignas(kCacheLine) Counter {
  std::atomic<std::uint64_t> value{0};

  std::uint64_t Get() const { return value.load(std::memory_order_acquire); }
  void Set(std::uint64_t next) { value.store(next, std::memory_order_release); }
};

// What a process asked for: the others compare it with their own.
struct OperationDescriptor {
  Signature signature;
  std::uint8_t one_result = 0;
  // From here on each process has its own.
  std::uint64_t in_offset = kPrivate;
  std::uint64_t out_offset = kPrivate;
};

enum class SleeperKind : std::uint32_t { kAwake = 0, kFutex = 1, kDescriptor = 2 };

struct alignas(kCacheLine) BellState {
  std::atomic<std::uint32_t> word{0};  // futex
  std::atomic<std::uint32_t> sleeper{0};
  // Abstract address of a unix datagram socket, once address_bytes is set.
  std::atomic<std::uint32_t> address_bytes{0};
  char address[32] = {};
};

enum class RankPresence : std::uint32_t { kAbsent = 0, kJoined = 1, kLeft = 2 };

struct RankState {
  alignas(kCacheLine) std::atomic<std::int32_t> pid{0};
  std::atomic<std::uint64_t> start_ticks{0};
  std::atomic<std::uint32_t> presence{0};
  BellState bell;
  Counter posted;                      // operations asked for
  Counter finished;                    // operations that this process is done with
  Counter beat;                        // anything at all was done
  Counter reducing;                    // chunk in work + 1, or 0
  Counter arrived[kHalves];            // chunks that the others may read
  Counter taken[kHalves];              // chunks whose result this process needs no more
  OperationDescriptor descriptors[2];  // of operation n at n % 2: nobody is further ahead than by one
};

// Written by the first who fails; the others read it once `state` is kSet.
struct alignas(kCacheLine) FailureState {
  static constexpr std::uint32_t kNone = 0, kWriting = 1, kSet = 2;
  std::atomic<std::uint32_t> state{0};
  std::int32_t code = 0;
  char text[1024] = {};
};

struct SegmentHeader {
  std::uint64_t magic = kLayoutMagic;
  std::uint32_t version = kLayoutVersion;
  std::uint32_t ranks = 0;
  std::uint64_t session = 0;
  std::uint64_t stage_bytes = 0;
  std::uint64_t result_bytes = 0;
  std::uint64_t arena_bytes = 0;
  std::int32_t owner_pid = 0;
  std::uint64_t owner_start_ticks = 0;

  alignas(kCacheLine) std::atomic<std::uint32_t> joined{0};  // futex: processes that have mapped the segment
  FailureState failure;
  Counter claimed;                      // next chunk to be reduced, where any process may
  Counter reduced[kHalves];             // chunks whose sources the leader needs no more, where it alone reduces
  Counter ready[kHalves][kReadyFlags];  // chunk + 1 whose result is there, at chunk % kReadyFlags
  RankState rank[kLocalRanksMax];
};

}  // namespace glim::hfreduce
