// The memory in which shards are put together before they are written: one anonymous mapping, kept from save to save.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sdk/base/result.h"

namespace glim::checkpoint {

// Owns the memory. Not thread-safe: the Saver hands it from thread to thread.
class ImagePool {
 public:
  explicit ImagePool(std::uint32_t images) : images_(images) {}
  ~ImagePool() { Release(); }
  ImagePool(const ImagePool&) = delete;
  ImagePool& operator=(const ImagePool&) = delete;

  bool Fits(std::uint64_t bytes) const { return bytes <= image_bytes_; }
  // Room for images of `bytes` and a little more. The old memory goes first, so that both never exist at once: what was
  // in it is lost, and nobody may read it any more. RESOURCE_EXHAUSTED leaves the pool empty.
  Status Grow(std::uint64_t bytes);
  void Release();
  // Touches every page, so that no save pays for that.
  void Prefault();

  // Aligned to 4 KiB, a multiple of 4 KiB long.
  std::span<std::byte> image(std::uint32_t index) const { return {memory_ + index * image_bytes_, image_bytes_}; }
  // All images.
  std::span<const std::byte> memory() const { return {memory_, images_ * image_bytes_}; }

 private:
  std::uint32_t images_;
  std::byte* memory_ = nullptr;
  std::uint64_t image_bytes_ = 0;
};

}  // namespace glim::checkpoint
