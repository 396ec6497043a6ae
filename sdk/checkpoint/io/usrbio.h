// The part of 3FS's published USRBIO interface that we use: names, types and meanings as in deepseek-ai/3FS,
// src/lib/api (hf3fs_usrbio.h and UsrbIo.md). Declared anew, so that Glim builds without 3FS; the library is
// found at run time (usrbio_library.h). Never tried against a real 3FS.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <ctime>

extern "C" {

// Memory shared with 3FS's client process; data is read into it and written from it.
struct hf3fs_iov {
  std::uint8_t* base;
  void* iovh;
  char id[16];
  char mount_point[256];
  std::size_t size;
  std::size_t block_size;
  int numa;
};

// A ring of requests, for reads or for writes.
struct hf3fs_ior {
  hf3fs_iov iov;
  void* iorh;
  char mount_point[256];
  bool for_read;
  int io_depth;
  int priority;
  int timeout;
  std::uint64_t flags;
};

struct hf3fs_cqe {
  std::int32_t index;
  std::int32_t reserved;
  std::int64_t result;  // bytes, or -errno
  const void* userdata;
};

}  // extern "C"

namespace glim::checkpoint {

// Its functions. They return -errno on failure unless said otherwise.
struct UsrbioFunctions {
  // Length of the mount point with its terminating zero, or -1 when `path` is not on 3FS.
  int (*extract_mount_point)(char* mount_point, int size, const char* path) = nullptr;
  // block_size 0: one block. numa -1: not bound.
  int (*iovcreate)(hf3fs_iov*, const char* mount_point, std::size_t size, std::size_t block_size, int numa) = nullptr;
  void (*iovdestroy)(hf3fs_iov*) = nullptr;
  // io_depth 0: requests are served as soon as they are seen.
  int (*iorcreate4)(hf3fs_ior*, const char* mount_point, int entries, bool for_read, int io_depth, int timeout,
                    int numa, std::uint64_t flags) = nullptr;
  void (*iordestroy)(hf3fs_ior*) = nullptr;
  int (*reg_fd)(int fd, std::uint64_t flags) = nullptr;  // above 0: errno
  void (*dereg_fd)(int fd) = nullptr;
  int (*prep_io)(const hf3fs_ior*, const hf3fs_iov*, bool read, void* memory, int fd, std::size_t offset,
                 std::uint64_t bytes, const void* userdata) = nullptr;
  int (*submit_ios)(const hf3fs_ior*) = nullptr;
  // How many came; a null deadline waits for ever.
  int (*wait_for_ios)(const hf3fs_ior*, hf3fs_cqe* completions, int completions_max, int completions_min,
                      const timespec* deadline) = nullptr;
};

}  // namespace glim::checkpoint
