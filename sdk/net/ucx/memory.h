// Memory that is registered with a worker's devices, so that peers may write and read it.
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "sdk/base/result.h"
#include "sdk/net/ucx/worker.h"

namespace glim::net::ucx {

// Unregistered, and freed if it was allocated, at the end. The worker outlives it. One thread at a time.
class Memory {
 public:
  // UCX allocates, so that peers on this host can map it. RESOURCE_EXHAUSTED: the limit of locked memory is told.
  static Result<std::unique_ptr<Memory>> Allocate(Worker& worker, std::size_t bytes);
  // The caller's, which stays. RESOURCE_EXHAUSTED.
  static Result<std::unique_ptr<Memory>> Register(Worker& worker, std::span<const std::byte> memory);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }
  const std::string& key() const { return key_; }  // for Endpoint::Unpack of a peer

 private:
  explicit Memory(Worker& worker) : context_(worker.context()) {}
  Status Map(const ucp_mem_map_params_t& params);

  ucp_context_h context_;
  ucp_mem_h handle_ = nullptr;
  std::span<std::byte> bytes_;
  std::string key_;
};

}  // namespace glim::net::ucx
