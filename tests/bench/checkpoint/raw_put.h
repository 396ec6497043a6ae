// The yardstick of the replica: a bare loop of UCX's puts into another process, and of its gets.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "sdk/base/result.h"

namespace glim::checkpoint::bench {

// A process that holds memory and does nothing but answer UCX. Killed at the end. Start it before UCX or threads are
// used in this one.
class RawPeer {
 public:
  virtual ~RawPeer() = default;
  static Result<std::unique_ptr<RawPeer>> Start(const std::string& tls, std::uint64_t bytes);
  // All of `memory`, in blocks of `block` bytes, `depth` under way, until the peer has everything. Milliseconds.
  virtual Result<double> Put(std::span<const std::byte> memory, std::uint64_t block, std::uint32_t depth) = 0;
  virtual Result<double> Get(std::span<std::byte> memory, std::uint64_t block, std::uint32_t depth) = 0;
};

}  // namespace glim::checkpoint::bench
