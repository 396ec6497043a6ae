// The file behind a node's shared segment. It gets its name only when its head is complete, and loses it as soon as all
// processes have mapped it: what is killed between leaves a name whose owner is gone, which the next one removes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "sdk/base/result.h"
#include "sdk/hfreduce/node/segment_layout.h"
#include "sdk/io/unique_fd.h"

namespace glim::hfreduce {

// Owns the descriptor. Not thread-safe. Errors name the path.
class SegmentFile {
 public:
  // Without a name yet, of so many bytes, all holes. RESOURCE_EXHAUSTED, UNAVAILABLE (a folder that cannot do it).
  static Result<SegmentFile> Make(const std::string& folder, std::uint64_t bytes);
  enum class Found { kNothing, kUsable };
  // Opens what has that name and belongs to this session of this user. A dead owner's file is removed.
  static Result<Found> Find(const std::string& path, std::uint64_t session, SegmentFile* file);

  SegmentFile() = default;

  // ALREADY_EXISTS: a living process has a file of that name; a dead one's is removed.
  Status Publish(const std::string& path);
  // Only if the name is still this file's.
  void RemoveName(const std::string& path);
  // Memory behind the range, or RESOURCE_EXHAUSTED: without, a full /dev/shm is a SIGBUS at the first touch.
  Status Reserve(std::uint64_t offset, std::uint64_t bytes);

  int fd() const { return fd_.get(); }

 private:
  explicit SegmentFile(int fd) : fd_(fd) {}

  UniqueFd fd_;
};

}  // namespace glim::hfreduce
