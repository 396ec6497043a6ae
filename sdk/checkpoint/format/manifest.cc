#include "sdk/checkpoint/format/manifest.h"

#include <algorithm>

namespace glim::checkpoint {

const TensorEntry* Manifest::Find(std::string_view name) const {
  const auto found = std::lower_bound(tensors.begin(), tensors.end(), name,
                                      [](const TensorEntry& entry, std::string_view n) { return entry.info.name < n; });
  return found != tensors.end() && found->info.name == name ? &*found : nullptr;
}

}  // namespace glim::checkpoint
