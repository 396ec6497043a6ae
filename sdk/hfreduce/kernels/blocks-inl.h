// How a range is walked: all sources of a block are read into registers before the block is written, so that any number
// of sources is read once, nothing is rounded in between, and the destination may be one of them. Per SIMD target.
//
// A Kernel has
//   using Values            what one register of stored elements becomes, plain or widened
//   kElementBytes
//   Load(address) -> Values
//   Join(Values, Values) -> Values
//   Finish(Values) -> Vec<Bytes>
// Elements do not see each other: where a block begins changes no bits.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "sdk/hfreduce/kernels/families.h"

#if defined(GLIM_HFREDUCE_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLIM_HFREDUCE_BLOCKS_INL_H_
#undef GLIM_HFREDUCE_BLOCKS_INL_H_
#else
#define GLIM_HFREDUCE_BLOCKS_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace glim::hfreduce {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
// Its vectors have one element, of whatever type.
inline constexpr bool kScalar = true;
#else
inline constexpr bool kScalar = false;
#endif

template <typename T>
inline constexpr std::size_t kRegisterBytes = hn::MaxLanes(hn::ScalableTag<T>()) * sizeof(T);

// By value and apart from the call's memory: a store to the destination might otherwise change them, for all that the
// compiler knows.
struct Lines {
  std::uint8_t* destination;
  const std::uint8_t* const* sources;
  std::size_t source_count;
};

// So far ahead of each source: what is computed does not hide the memory's latency otherwise (sums of 16-bit types took
// a fifth longer). Beyond the end it is harmless.
inline constexpr std::size_t kPrefetchBytes = 1024;

template <std::size_t kRegisters, bool kStream, class Kernel>
HWY_INLINE void ReduceBlock(const Kernel kernel, const Lines lines, std::size_t offset) {
  using T = typename Kernel::T;
  const hn::ScalableTag<T> d;
  constexpr std::size_t kBytes = kRegisterBytes<T>;
  typename Kernel::Values total[kRegisters];
  const std::uint8_t* first = lines.sources[0] + offset;
  for (std::size_t r = 0; r < kRegisters; ++r) {
    hwy::Prefetch(first + kPrefetchBytes + r * kBytes);
    total[r] = kernel.Load(first + r * kBytes);
  }
  for (std::size_t s = 1; s < lines.source_count; ++s) {
    const std::uint8_t* source = lines.sources[s] + offset;
    for (std::size_t r = 0; r < kRegisters; ++r) {
      hwy::Prefetch(source + kPrefetchBytes + r * kBytes);
      total[r] = kernel.Join(total[r], kernel.Load(source + r * kBytes));
    }
  }
  for (std::size_t r = 0; r < kRegisters; ++r) {
    T* to = reinterpret_cast<T*>(lines.destination + offset + r * kBytes);
    if constexpr (kStream) {
      hn::Stream(kernel.Finish(total[r]), d, to);
    } else {
      hn::StoreU(kernel.Finish(total[r]), d, to);
    }
  }
}

template <bool kStream, class Kernel>
HWY_INLINE void ReduceBlocks(const Kernel kernel, const Lines lines, std::size_t begin, std::size_t end) {
  constexpr std::size_t kBlockBytes = Kernel::kBlockRegisters * kRegisterBytes<typename Kernel::T>;
  for (std::size_t offset = begin; offset < end; offset += kBlockBytes) {
    ReduceBlock<Kernel::kBlockRegisters, kStream>(kernel, lines, offset);
  }
}

// Less than a register, through a copy that is as long as one.
template <class Kernel>
HWY_NOINLINE void ReducePart(const Kernel& kernel, const KernelCall& call, std::size_t offset, std::size_t bytes) {
  using T = typename Kernel::T;
  alignas(64) std::uint8_t part[kRegisterBytes<T>] = {};
  std::memcpy(part, call.sources[0] + offset, bytes);
  auto total = kernel.Load(part);
  for (std::size_t s = 1; s < call.source_count; ++s) {
    std::memcpy(part, call.sources[s] + offset, bytes);
    total = kernel.Join(total, kernel.Load(part));
  }
  hn::StoreU(kernel.Finish(total), hn::ScalableTag<T>(), reinterpret_cast<T*>(part));
  std::memcpy(call.destination + offset, part, bytes);
}

template <class Kernel>
HWY_INLINE void ReduceSmall(const Kernel& kernel, const KernelCall& call, std::size_t begin, std::size_t end) {
  constexpr std::size_t kBytes = kRegisterBytes<typename Kernel::T>;
  const Lines lines{call.destination, call.sources, call.source_count};
  std::size_t offset = begin;
  for (; end - offset >= kBytes; offset += kBytes) ReduceBlock<1, false>(kernel, lines, offset);
  if (offset < end) ReducePart(kernel, call, offset, end - offset);
}

template <class Kernel>
HWY_NOINLINE void ReduceRange(const Kernel& kernel, const KernelCall& call) {
  using T = typename Kernel::T;
  constexpr std::size_t kLineBytes = 64;
  constexpr std::size_t kBlockBytes = Kernel::kBlockRegisters * kRegisterBytes<T>;
  // Stores that cross cache lines are slow, and streams must be aligned: whole lines of the destination in the middle.
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(call.destination) % kLineBytes;
  const bool alignable = misaligned % sizeof(T) == 0;
  std::size_t begin = 0;
  if (alignable && misaligned != 0 && call.bytes >= kBlockBytes + kLineBytes) {
    begin = kLineBytes - misaligned;
    ReduceSmall(kernel, call, 0, begin);
  }
  const std::size_t end = call.bytes - (call.bytes - begin) % kBlockBytes;
  const Lines lines{call.destination, call.sources, call.source_count};
  if (call.args.stream && (misaligned == 0 || begin != 0)) {
    ReduceBlocks<true>(kernel, lines, begin, end);
    hwy::FlushStream();  // before the caller tells anybody that the result is there
  } else {
    ReduceBlocks<false>(kernel, lines, begin, end);
  }
  ReduceSmall(kernel, call, end, call.bytes);
}

}  // namespace HWY_NAMESPACE
}  // namespace glim::hfreduce
HWY_AFTER_NAMESPACE();

#endif
