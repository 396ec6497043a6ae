#include "sdk/checkpoint/save/checksums.h"

#include <algorithm>

#include "sdk/checkpoint/format/crc32c.h"

namespace glim::checkpoint {

void TakeChecksums(std::span<const std::byte> image, std::vector<TensorEntry>& tensors) {
  for (TensorEntry& tensor : tensors) {
    for (Piece& piece : tensor.pieces) {
      piece.crc32c.clear();
      for (std::uint64_t at = 0; at < piece.bytes; at += kChunkBytes) {
        piece.crc32c.push_back(Crc32c(image.subspan(piece.offset + at, std::min(kChunkBytes, piece.bytes - at))));
      }
    }
  }
}

}  // namespace glim::checkpoint
