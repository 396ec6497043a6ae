// Whether a file lies in the page cache.
#pragma once

#include <cstddef>
#include <cstdint>

namespace glim::checkpoint {

// Of one open file; owns a mapping of it that is never touched. One thread.
class PageCache {
 public:
  // `bytes`: the file's length. A file that is neither ours nor root's to ask for counts as not resident (the kernel
  // would say that all of it is).
  PageCache(int fd, std::uint64_t bytes);
  PageCache(const PageCache&) = delete;
  ~PageCache();

  // By samples, one in 256 KiB: a guess is enough, since a read through the page cache is right in either case.
  bool Holds(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  bool HoldsPage(std::uint64_t page) const;

  void* mapping_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace glim::checkpoint
