#include "sdk/checkpoint/save/layout_cache.h"

#include <algorithm>
#include <utility>

namespace glim::checkpoint {

Result<std::shared_ptr<const ShardLayout>> LayoutCache::For(std::span<const SaveTensor> tensors) {
  if (layout_ != nullptr && IsOf(tensors)) return layout_;
  Result<ShardLayout> layout = LayOut(tensors, rank_, world_, split_bytes_);
  if (!layout.ok()) return layout.status();
  tensors_.assign(tensors.begin(), tensors.end());
  layout_ = std::make_shared<const ShardLayout>(std::move(*layout));
  return layout_;
}

// All that LayOut looks at.
bool LayoutCache::IsOf(std::span<const SaveTensor> tensors) const {
  return std::ranges::equal(tensors_, tensors, [](const SaveTensor& a, const SaveTensor& b) {
    return a.data.size() == b.data.size() && a.placement == b.placement && a.rows == b.rows && a.info == b.info;
  });
}

}  // namespace glim::checkpoint
