// Which rank writes what, and where in its shard: a pure function, so that every rank finds the same answer alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/checkpoint/format/manifest.h"
#include "sdk/checkpoint/format/tensor.h"

namespace glim::checkpoint {

// A run of this rank's memory and the place in its shard where it goes.
struct CopyRange {
  std::uint32_t tensor = 0;  // index in the rank's list of SaveTensors
  std::uint64_t from = 0;    // in SaveTensor::data
  std::uint64_t to = 0;      // in the shard's file
  std::uint64_t bytes = 0;
};

struct ShardLayout {
  std::string header;  // with padding; the file's first bytes
  std::uint64_t file_bytes = 0;
  std::vector<CopyRange> copies;     // by `to`
  std::vector<TensorEntry> entries;  // of this rank's pieces, by name, checksums still empty, shard 0
};

// kReplicated tensors (which all ranks hold alike) are cut into parts of `split_bytes`, a multiple of kChunkBytes; the
// parts, in the order of the names, are dealt out so that each rank has an equal share in one run, give or take a part.
// Neighbouring parts of one tensor on one rank are one piece: so with `world` 1 nothing is cut.
// kOwn and kRows are written by whoever holds them.
// In the shard, pieces whose length is a multiple of 4 KiB come first, then larger elements before smaller ones: so the
// first kind begin at multiples of 4 KiB, and every piece at a multiple of its element's size.
// INVALID_ARGUMENT names the tensor: a duplicate or bad name, data of another size than shape and type say, rows that
// it does not have. RESOURCE_EXHAUSTED: more tensors than a shard's header can list.
Result<ShardLayout> LayOut(std::span<const SaveTensor> tensors, std::uint32_t rank, std::uint32_t world,
                           std::uint64_t split_bytes);

}  // namespace glim::checkpoint
