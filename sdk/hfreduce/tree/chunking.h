// How the elements of an operation are cut. A function of bytes alone, so that the bits of the result are one too.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sdk/base/dtype.h"

namespace glim::hfreduce {

struct Range {
  std::size_t begin = 0;  // elements
  std::size_t count = 0;
};

// Half 0 goes through tree 0, half 1 through tree 1. Chunks of a half are numbered from 0. Half 0 has a chunk always,
// an empty one if there are no elements: an operation on nothing meets everybody all the same. Half 1 may have none.
struct Chunking {
  std::size_t split = 0;  // elements of half 0
  std::size_t elements = 0;
  std::size_t chunk_elements = 1;  // of each chunk but the last of a half

  std::uint32_t ChunksOf(int half) const;
  Range RangeOf(int half, std::uint32_t chunk) const;
};

inline constexpr std::size_t kChunkBytesMin = std::size_t{64} << 10;
inline constexpr std::size_t kChunkBytesMax = std::size_t{1} << 20;
inline constexpr std::size_t kOneHalfBytesMax = std::size_t{4} << 10;

// About 16 chunks a half, that a pipeline fills soon, of a power of two between kChunkBytesMin and kChunkBytesMax
// bytes; edges of chunks lie on cache lines, seen from the first element. Up to kOneHalfBytesMax bytes are one chunk of
// half 0.
Chunking ChunkingOf(DType type, std::size_t elements);

// One chunk of half 0: what DirectOperation works on.
Chunking OneChunk(std::size_t elements);

}  // namespace glim::hfreduce
