#include "sdk/hfreduce/tree/chunking.h"

#include <algorithm>
#include <bit>

namespace glim::hfreduce {
namespace {

constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kChunksOfHalf = 16;

}  // namespace

std::uint32_t Chunking::ChunksOf(int half) const {
  const std::size_t count = half == 0 ? split : elements - split;
  const std::size_t chunks = (count + chunk_elements - 1) / chunk_elements;
  return static_cast<std::uint32_t>(half == 0 ? std::max<std::size_t>(chunks, 1) : chunks);
}

Range Chunking::RangeOf(int half, std::uint32_t chunk) const {
  const std::size_t begin = (half == 0 ? 0 : split) + chunk * chunk_elements;
  const std::size_t end = half == 0 ? split : elements;
  return {.begin = begin, .count = std::min(chunk_elements, end - begin)};
}

Chunking ChunkingOf(DType type, std::size_t elements) {
  const std::size_t bytes = elements * SizeOf(type);
  if (bytes <= kOneHalfBytesMax) return OneChunk(elements);
  const std::size_t lines = (bytes + kLineBytes - 1) / kLineBytes;
  const std::size_t half_bytes = (lines + 1) / 2 * kLineBytes;
  const std::size_t chunk_bytes =
      std::clamp(std::bit_floor(half_bytes / kChunksOfHalf), kChunkBytesMin, kChunkBytesMax);
  return {.split = half_bytes / SizeOf(type), .elements = elements, .chunk_elements = chunk_bytes / SizeOf(type)};
}

Chunking OneChunk(std::size_t elements) {
  return {.split = elements, .elements = elements, .chunk_elements = std::max<std::size_t>(elements, 1)};
}

}  // namespace glim::hfreduce
