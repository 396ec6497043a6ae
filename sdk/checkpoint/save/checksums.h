// Checksums of a shard that lies in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sdk/checkpoint/format/manifest.h"

namespace glim::checkpoint {

// Fills `crc32c` of every piece of `tensors`, all of them in the shard whose bytes are `image`.
void TakeChecksums(std::span<const std::byte> image, std::vector<TensorEntry>& tensors);

}  // namespace glim::checkpoint
