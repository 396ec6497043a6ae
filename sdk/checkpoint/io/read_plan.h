// Turns the ranges wanted of one file into requests: a pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "sdk/checkpoint/io/batch_reader.h"

namespace glim::checkpoint {

inline constexpr std::uint64_t kGapBytes = std::uint64_t{128} << 10;  // read over rather than asked around
// Shorter parts are read with their neighbours and copied, which is cheaper than a request of their own (with O_DIRECT
// even three: the pages that it begins and ends in).
inline constexpr std::uint64_t kStraightBytes = std::uint64_t{64} << 10;
inline constexpr std::uint64_t kDirectStraightBytes = std::uint64_t{1} << 20;

// A part of a range, wanted from [begin, begin + bytes) of the file.
struct ReadPiece {
  std::uint32_t range = 0;  // index in the ranges given
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  std::byte* into = nullptr;
};

// One request: [begin, end) of the file, which all its pieces lie in. A straight one has one piece, which is all of it,
// and is read into its place; the others are read beside and copied. A direct one begins and ends at whole pages, so
// its end may be beyond the file's.
struct PlannedRead {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t wanted_end = 0;  // of the last piece
  std::uint32_t first_piece = 0;
  std::uint32_t pieces = 0;
  bool direct = false;
  bool straight = false;
};

struct ReadPlan {
  std::vector<PlannedRead> reads;  // by `begin`
  std::vector<ReadPiece> pieces;
};

struct ReadPlanOptions {
  std::uint64_t block_bytes = 0;       // of a read at most, a multiple of 4 KiB
  bool direct = false;                 // the file can be read with O_DIRECT...
  std::uint64_t memory_alignment = 0;  // ...into memory that is so aligned; divides 4 KiB
  // ...but is read through the page cache where that has these bytes. Asked once for each block of the file.
  std::function<bool(std::uint64_t offset, std::uint64_t bytes)> cached;
};

// `order`: indexes in `ranges` of those in this file, by offset. Ranges may overlap; empty ones are left out.
ReadPlan PlanReads(std::span<const ReadRange> ranges, std::span<const std::uint32_t> order,
                   const ReadPlanOptions& options);

}  // namespace glim::checkpoint
