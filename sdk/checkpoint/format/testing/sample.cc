#include "sdk/checkpoint/format/testing/sample.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace glim::checkpoint::testing {
namespace {

std::span<const std::byte> Absent(std::uint64_t bytes) {
  return {reinterpret_cast<const std::byte*>(std::uintptr_t{1}), bytes};
}

std::uint64_t Upto(Rng& rng, std::uint64_t max) {
  return static_cast<std::uint64_t>(rng.Between(0, static_cast<std::int64_t>(max)));
}

std::vector<std::uint64_t> RandomShape(Rng& rng, std::uint64_t dimension_max) {
  std::vector<std::uint64_t> shape(Upto(rng, 4));
  for (std::uint64_t& dimension : shape) dimension = rng.OneIn(20) ? 0 : 1 + Upto(rng, dimension_max - 1);
  if (!shape.empty() && rng.OneIn(4)) shape[0] = (1 + Upto(rng, 8)) << 20;
  return shape;
}

// The rows from where the rank before ends.
Rows NextRows(Rng& rng, Rows before, std::uint64_t rows, bool is_last) {
  const std::uint64_t first = before.first + before.count;
  const std::uint64_t left = rows - first;
  return {first, is_last ? left : Upto(rng, std::min(left, rows / 2 + 1))};
}

void Shuffle(Rng& rng, std::vector<SaveTensor>& tensors) {
  for (std::size_t i = tensors.size(); i > 1; --i) std::swap(tensors[i - 1], tensors[Upto(rng, i - 1)]);
}

}  // namespace

SaveTensor Replicated(std::string name, DType dtype, std::vector<std::uint64_t> shape) {
  SaveTensor tensor;
  tensor.info = {.name = std::move(name), .dtype = dtype, .shape = std::move(shape)};
  tensor.placement = Placement::kReplicated;
  tensor.data = Absent(*BytesOf(tensor.info.dtype, tensor.info.shape));
  return tensor;
}

Job RandomJob(Rng& rng, const JobOptions& options) {
  Job job(options.world);
  const std::uint64_t count = Upto(rng, options.tensors_max);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto dtype = static_cast<DType>(Upto(rng, kDTypes - 1));
    SaveTensor tensor = Replicated("layer." + std::to_string(Upto(rng, 99)) + "." + std::to_string(i), dtype,
                                   RandomShape(rng, options.dimension_max));
    tensor.placement = static_cast<Placement>(Upto(rng, tensor.info.shape.empty() ? 1 : 2));
    if (tensor.placement == Placement::kOwn) {
      job[Upto(rng, options.world - 1)].push_back(tensor);
      continue;
    }
    Rows rows;
    for (std::uint32_t rank = 0; rank < options.world; ++rank) {
      if (tensor.placement == Placement::kRows) {
        const std::uint64_t bytes = *BytesOf(dtype, tensor.info.shape);
        const std::uint64_t global = tensor.info.shape[0];
        rows = NextRows(rng, rows, global, rank + 1 == options.world);
        tensor.rows = rows;
        tensor.data = Absent(global == 0 ? 0 : bytes / global * rows.count);
      }
      job[rank].push_back(tensor);
    }
  }
  for (std::vector<SaveTensor>& tensors : job) Shuffle(rng, tensors);
  return job;
}

std::string ShardName(std::uint32_t rank, std::uint32_t world) {
  char name[64];
  std::snprintf(name, sizeof(name), "shard-%05u-of-%05u.safetensors", rank, world);
  return name;
}

Manifest PartOf(const ShardLayout& layout, std::uint32_t rank, std::uint32_t world) {
  Manifest part;
  part.attempt = 3;
  part.step = 700;
  part.world_size = world;
  part.created_at_ms = 1'700'000'000'000;
  part.shards = {{.file = ShardName(rank, world), .bytes = layout.file_bytes, .header_crc32c = rank}};
  part.tensors = layout.entries;
  std::uint32_t checksum = 0xFFFF'FF00 + rank;
  for (TensorEntry& entry : part.tensors) {
    for (Piece& piece : entry.pieces) {
      piece.crc32c.resize((piece.bytes + kChunkBytes - 1) / kChunkBytes);
      for (std::uint32_t& sum : piece.crc32c) sum = checksum++;
    }
  }
  return part;
}

}  // namespace glim::checkpoint::testing
