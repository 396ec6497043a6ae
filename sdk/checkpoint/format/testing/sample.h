// Random checkpoints for tests: the tensors of a whole job, what each of its ranks holds of them, and what comes of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/base/rng.h"
#include "sdk/checkpoint/format/layout.h"
#include "sdk/checkpoint/format/manifest.h"
#include "sdk/checkpoint/format/tensor.h"

namespace glim::checkpoint::testing {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// What the ranks hold. `data` has the right size and the address 1: it is not there to be read.
using Job = std::vector<std::vector<SaveTensor>>;  // by rank

struct JobOptions {
  std::uint32_t world = 1;
  std::uint32_t tensors_max = 12;
  std::uint64_t dimension_max = 9;
};

// Tensors of all types and placements, each rank's in an order of its own. Now and then one is large, empty or a
// scalar.
Job RandomJob(Rng& rng, const JobOptions& options);

// A tensor that is not there either.
SaveTensor Replicated(std::string name, DType dtype, std::vector<std::uint64_t> shape);

// Rank `rank`'s part, as a saver would make it from its layout; checksums are given numbers.
Manifest PartOf(const ShardLayout& layout, std::uint32_t rank, std::uint32_t world);

// "shard-00001-of-00004.safetensors"
std::string ShardName(std::uint32_t rank, std::uint32_t world);

}  // namespace glim::checkpoint::testing
