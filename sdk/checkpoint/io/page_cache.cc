#include "sdk/checkpoint/io/page_cache.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "sdk/checkpoint/io/channel.h"

namespace glim::checkpoint {
namespace {

constexpr std::uint64_t kSampleBytes = std::uint64_t{256} << 10;

}  // namespace

PageCache::PageCache(int fd, std::uint64_t bytes) : bytes_(bytes) {
  struct stat found {};
  if (bytes == 0 || ::fstat(fd, &found) != 0) return;
  if (::geteuid() != 0 && ::geteuid() != found.st_uid) return;
  void* mapping = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (mapping != MAP_FAILED) mapping_ = mapping;
}

PageCache::~PageCache() {
  if (mapping_ != nullptr) ::munmap(mapping_, bytes_);
}

bool PageCache::HoldsPage(std::uint64_t page) const {
  unsigned char resident = 0;
  void* address = static_cast<std::byte*>(mapping_) + page * kPageBytes;
  return ::mincore(address, kPageBytes, &resident) == 0 && (resident & 1) != 0;
}

bool PageCache::Holds(std::uint64_t offset, std::uint64_t bytes) const {
  if (mapping_ == nullptr || bytes == 0 || offset >= bytes_) return false;
  const std::uint64_t last = std::min(offset + bytes, bytes_) - 1;
  for (std::uint64_t at = offset; at < last; at += kSampleBytes) {
    if (!HoldsPage(at / kPageBytes)) return false;
  }
  return HoldsPage(last / kPageBytes);
}

}  // namespace glim::checkpoint
