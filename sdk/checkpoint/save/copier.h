// The copy that the trainer waits for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "sdk/checkpoint/format/layout.h"
#include "sdk/checkpoint/format/tensor.h"

namespace glim::checkpoint {

// Of the tensors in host memory: every range of `copies` to its place in `image`, by `threads` threads (at least 1,
// this one included), block by block from the beginning of the image. `copied(end)` is told that everything before
// `end` is there: with rising ends, by one thread at a time, the last time with the end of the last range. Tensors on a
// device are left out.
void CopyRanges(std::span<std::byte> image, std::span<const SaveTensor> tensors, std::span<const CopyRange> copies,
                std::uint32_t threads, const std::function<void(std::uint64_t end)>& copied);

}  // namespace glim::checkpoint
