// The layout of the save before, for a trainer saves the same tensors again and again.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/checkpoint/format/layout.h"
#include "sdk/checkpoint/format/tensor.h"

namespace glim::checkpoint {

// LayOut with a memory of one. To compare 100,000 tensors takes a tenth of the time that laying them out takes, and it
// is the trainer who waits. Not thread-safe.
class LayoutCache {
 public:
  LayoutCache(std::uint32_t rank, std::uint32_t world, std::uint64_t split_bytes)
      : rank_(rank), world_(world), split_bytes_(split_bytes) {}

  // As LayOut. What it returns stays as it is.
  Result<std::shared_ptr<const ShardLayout>> For(std::span<const SaveTensor> tensors);

 private:
  bool IsOf(std::span<const SaveTensor> tensors) const;

  const std::uint32_t rank_;
  const std::uint32_t world_;
  const std::uint64_t split_bytes_;
  std::vector<SaveTensor> tensors_;  // those of layout_; their data is not there any more
  std::shared_ptr<const ShardLayout> layout_;
};

}  // namespace glim::checkpoint
