// How requests reach a file: by io_uring, by threads that call pread and pwrite, or by 3FS's own ring. Writers and
// readers are the same above it, and tests put a faulty one between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "sdk/base/result.h"
#include "sdk/checkpoint/io/file_writer.h"

namespace glim::checkpoint {

inline constexpr std::uint64_t kPageBytes = 4096;  // what O_DIRECT is aligned to

constexpr std::uint64_t PagesDown(std::uint64_t bytes) { return bytes / kPageBytes * kPageBytes; }
constexpr std::uint64_t PagesUp(std::uint64_t bytes) { return PagesDown(bytes + kPageBytes - 1); }

struct IoRequest {
  int fd = -1;                  // was given to Attach
  std::uint64_t offset = 0;     // in the file
  std::byte* memory = nullptr;  // only read when it is a write
  std::uint64_t bytes = 0;      // 1 to IoOptions::block_bytes
  std::uint64_t tag = 0;        // the caller's
  bool copies = false;          // a read from the page cache: costs processor time, not waiting
};

struct IoCompletion {
  std::uint64_t tag = 0;
  std::int64_t result = 0;  // bytes moved, perhaps fewer than asked; or -errno
};

enum class IoDirection : std::uint8_t { kRead, kWrite };

// Owns what the way needs. One thread at a time. Memory and files of a request belong to the channel until its
// completion; a channel dies with nothing in flight.
class Channel {
 public:
  virtual ~Channel() = default;

  virtual IoKind kind() const = 0;
  // Whether requests to a descriptor with O_DIRECT go past the page cache. If not, the way has no page cache at all.
  virtual bool has_direct() const = 0;

  // Tells the kernel of memory beforehand, where that helps; what was told before is forgotten. Failure is none.
  virtual void Register(std::span<const std::byte> memory) = 0;
  virtual bool IsRegistered(std::span<const std::byte> memory) const = 0;

  // Before the first request to a descriptor, and after the last one, before it is closed. 0 or errno.
  virtual int Attach(int fd) = 0;
  virtual void Detach(int fd) = 0;

  // At most IoOptions::depth in flight. Every request has one completion; what cannot be submitted completes with
  // -errno.
  virtual void Submit(const IoRequest& request) = 0;
  // Waits for one of those in flight, of which there must be one.
  virtual IoCompletion Wait() = 0;
};

}  // namespace glim::checkpoint
