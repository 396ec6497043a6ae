#include "sdk/checkpoint/save/image_pool.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace glim::checkpoint {
namespace {

constexpr std::uint64_t kHugePageBytes = std::uint64_t{2} << 20;
constexpr std::uint64_t kImageBytesMax = std::uint64_t{1} << 44;  // far above any host, far below an overflow

}  // namespace

Status ImagePool::Grow(std::uint64_t bytes) {
  Release();
  if (bytes > kImageBytesMax) {
    return Status(StatusCode::kResourceExhausted,
                  "an image of " + std::to_string(bytes) + " bytes is beyond any memory");
  }
  // A sixteenth more: metadata and counters grow a little from save to save.
  const std::uint64_t image = (bytes + bytes / 16 + kHugePageBytes) / kHugePageBytes * kHugePageBytes;
  void* memory =
      ::mmap(nullptr, images_ * image, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return Status(StatusCode::kResourceExhausted, "no memory for " + std::to_string(images_) + " image(s) of " +
                                                      std::to_string(image) + " bytes: " + std::strerror(errno))
        .WithFix("save from more ranks, or ask for one image");
  }
  memory_ = static_cast<std::byte*>(memory);
  image_bytes_ = image;
  // Both are wishes: without huge pages it is slower; without the other a forked child (a data loader) would make the
  // kernel copy pages that are being written to disk.
  ::madvise(memory, images_ * image, MADV_HUGEPAGE);
  ::madvise(memory, images_ * image, MADV_DONTFORK);
  return Status::Ok();
}

void ImagePool::Release() {
  if (memory_ != nullptr) ::munmap(memory_, images_ * image_bytes_);
  memory_ = nullptr;
  image_bytes_ = 0;
}

void ImagePool::Prefault() {
#ifdef MADV_POPULATE_WRITE
  if (memory_ == nullptr || ::madvise(memory_, images_ * image_bytes_, MADV_POPULATE_WRITE) == 0) return;
#endif
  for (std::uint64_t at = 0; at < images_ * image_bytes_; at += 4096) memory_[at] = std::byte{0};
}

}  // namespace glim::checkpoint
