// What is to be read for some ranges of tensors: pure, nothing is read here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/checkpoint/format/manifest.h"
#include "sdk/checkpoint/load/load_range.h"

namespace glim::checkpoint {

// One chunk of a tensor's piece: the unit that has a checksum.
struct ChunkId {
  std::uint32_t tensor = 0;  // index in Manifest::tensors
  std::uint32_t piece = 0;   // in TensorEntry::pieces
  std::uint32_t chunk = 0;   // in Piece::crc32c
  friend auto operator<=>(const ChunkId&, const ChunkId&) = default;
};

// Of a chunk, in its piece: where it begins and how long it is.
std::uint64_t BeginOf(ChunkId id);
std::uint64_t BytesOf(const Piece& piece, ChunkId id);
// "chunk 3 of tensor 'w' (bytes 12582912 to 16777216) in shard-00000-of-00001.safetensors"
std::string Describe(const Manifest& manifest, ChunkId id);
// DATA_LOSS with that, when the checksum of `data` is another.
Status CheckChunk(const Manifest& manifest, ChunkId id, std::span<const std::byte> data);

// A chunk that is read whole into its place.
struct WholeChunk {
  ChunkId id;
  std::span<std::byte> into;
};

// A part of a chunk that is read whole elsewhere.
struct PartOfChunk {
  ChunkId id;
  std::uint64_t from = 0;  // in the chunk
  std::span<std::byte> into;
};

struct LoadPlan {
  std::vector<WholeChunk> whole;
  std::vector<PartOfChunk> parts;  // by chunk
};

// INVALID_ARGUMENT as Checkpoint::Load says.
Result<LoadPlan> PlanLoad(const Manifest& manifest, std::span<const LoadRange> ranges);

}  // namespace glim::checkpoint
