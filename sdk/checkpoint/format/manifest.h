// The manifest: what makes a folder of shards a checkpoint. JSON, docs/reference/checkpoint-format.md has every field.
//
// A tensor is a sequence of pieces, each a contiguous range of its bytes in row-major order, together all of it once.
// So a large tensor that is split, the rows that a rank holds, and a plain tensor (one piece) are the same thing, and
// loading on another number of ranks is the intersection of ranges.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/checkpoint/format/tensor.h"

namespace glim::checkpoint {

inline constexpr std::uint64_t kChunkBytes = std::uint64_t{4} << 20;  // of a piece, each with its CRC-32C
inline constexpr std::size_t kManifestBytesMax = std::size_t{1} << 30;

struct Piece {
  std::uint32_t shard = 0;   // index in Manifest::shards
  std::uint64_t offset = 0;  // in the shard file, from its first byte
  std::uint64_t bytes = 0;
  std::uint64_t at = 0;               // where in the tensor these bytes begin; a multiple of the element's size
  std::vector<std::uint32_t> crc32c;  // of each kChunkBytes of the piece from its begin; the last may be shorter
  friend bool operator==(const Piece&, const Piece&) = default;
};

struct TensorEntry {
  TensorInfo info;
  std::vector<Piece> pieces;  // by `at`, without a hole or an overlap; empty only for a tensor of 0 bytes
  bool by_rows = false;       // it was distributed by rows: each rank's rows are whole pieces
  friend bool operator==(const TensorEntry&, const TensorEntry&) = default;
};

struct Shard {
  std::string file;  // a plain name, "shard-00000-of-00004.safetensors"
  std::uint64_t bytes = 0;
  std::uint32_t header_crc32c = 0;  // of the 8-byte length and the JSON header with its padding
  friend bool operator==(const Shard&, const Shard&) = default;
};

struct Manifest {
  std::uint32_t attempt = 0;
  std::uint64_t step = 0;        // last complete step
  std::uint32_t world_size = 1;  // ranks that wrote
  std::int64_t created_at_ms = 0;
  std::vector<Shard> shards;
  std::vector<TensorEntry> tensors;             // sorted by name
  std::map<std::string, std::string> metadata;  // the user's, UTF-8

  // By name, in O(log tensors).
  const TensorEntry* Find(std::string_view name) const;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// One rank's share of a manifest: the shard it wrote and the pieces in it. The same JSON with "rank" beside; its
// tensors may be incomplete. Rank 0 merges them.
struct Part {
  std::uint32_t rank = 0;
  Manifest manifest;
  friend bool operator==(const Part&, const Part&) = default;
};

}  // namespace glim::checkpoint
