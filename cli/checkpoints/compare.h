// What differs between two checkpoints, tensor by tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sdk/base/result.h"

#include "sdk/checkpoint/load/checkpoint.h"

namespace glim::cli {

// From the first to the second.
enum class Change : std::uint8_t { kRemoved, kAdded, kTyped, kShaped, kChanged };

struct TensorChange {
  std::string tensor;
  Change change = Change::kChanged;
  std::optional<checkpoint::TensorInfo> before;  // none: it is not there
  std::optional<checkpoint::TensorInfo> after;
};

struct Comparison {
  std::vector<TensorChange> changes;  // by name
  std::size_t same = 0;
};

// Data are compared by the manifests' checksums where both cut a tensor alike, and else byte by byte (and checked on
// the way). So two that are called the same may differ with a probability of 2^-32 a chunk, and shards that were
// damaged since are not noticed: that is what Verify is for.
Result<Comparison> Compare(checkpoint::Checkpoint& first, checkpoint::Checkpoint& second);

}  // namespace glim::cli
