// One file that is being read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "sdk/base/result.h"
#include "sdk/checkpoint/io/channel.h"
#include "sdk/checkpoint/io/page_cache.h"
#include "sdk/io/unique_fd.h"

namespace glim::checkpoint {

// Owns its descriptors, which are the channel's until it goes; the channel outlives it.
class ReadFile {
 public:
  // DATA_LOSS when there is no such file, or it is none; else errno's words.
  static Result<std::unique_ptr<ReadFile>> Open(Channel& channel, int folder, const std::string& name, bool direct);
  explicit ReadFile(Channel& channel) : channel_(channel) {}
  ReadFile(const ReadFile&) = delete;
  ~ReadFile();

  const std::string& name() const { return name_; }
  std::uint64_t bytes() const { return bytes_; }  // when it was opened
  bool has_direct() const { return static_cast<bool>(direct_); }
  std::uint64_t memory_alignment() const { return memory_alignment_; }
  int fd(bool direct) const { return direct ? direct_.get() : buffered_.get(); }
  bool Cached(std::uint64_t offset, std::uint64_t bytes) const { return cache_->Holds(offset, bytes); }

 private:
  Status Attach(UniqueFd fd, UniqueFd& to);

  Channel& channel_;
  std::string name_;
  UniqueFd buffered_, direct_;
  std::uint64_t bytes_ = 0;
  std::uint64_t memory_alignment_ = kPageBytes;
  std::optional<PageCache> cache_;
};

}  // namespace glim::checkpoint
