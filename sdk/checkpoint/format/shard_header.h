// A shard: a file that the safetensors library opens. Eight bytes (little-endian) of length, a JSON header of so many
// bytes, then the data of every piece without holes, in the order of the header. The header is padded with spaces so
// that the data begins at a multiple of 4 KiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/checkpoint/format/tensor.h"

namespace glim::checkpoint {

inline constexpr std::size_t kDataAlignment = 4096;
inline constexpr std::size_t kHeaderBytesMax = 100'000'000;  // what the safetensors library accepts

// One array in a shard. For a piece that is not a whole tensor: name "tensor@AT", shape {elements}, or for whole rows
// {count, further dimensions...}.
struct ShardEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0;  // in the data, from its first byte
  std::uint64_t end = 0;
  friend bool operator==(const ShardEntry&, const ShardEntry&) = default;
};

struct ShardHeader {
  std::uint64_t data_start = 0;     // in the file; 8 + the header's length
  std::vector<ShardEntry> entries;  // by `begin`
};

// The length and the header, a multiple of kDataAlignment long. The entries lie end to end from 0, in this order.
// RESOURCE_EXHAUSTED when the header would be longer than readers accept.
Result<std::string> BuildShardHeader(const std::vector<ShardEntry>& entries);

// `start`: the file's first bytes, at least 8 + its stated length (else OUT_OF_RANGE says how many are needed, unless
// that is beyond kHeaderBytesMax or the file). Strict as the safetensors library: no hole, no overlap, no byte left
// over, size equal to shape times type, no duplicate name; DATA_LOSS, reason BAD_SHARD, with what is wrong.
Result<ShardHeader> ParseShardHeader(std::string_view start, std::uint64_t file_bytes);

// How many bytes of the file a reader needs for ParseShardHeader, from its first eight. DATA_LOSS if absurd.
Result<std::uint64_t> ShardHeaderBytes(std::span<const std::byte, 8> first, std::uint64_t file_bytes);

}  // namespace glim::checkpoint
