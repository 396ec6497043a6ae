// A way from a worker to a peer's, and the peer's memory that may be written and read over it.
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/ucx/worker.h"

namespace glim::ucx {

// One thread at a time; the worker outlives it. Closed at the end by force where UCX allows that: what the peer still
// needs must have been flushed. The end waits for UCX a second at most.
class Endpoint {
 public:
  // `peer`: Worker::address() there. UNAVAILABLE.
  static Result<std::unique_ptr<Endpoint>> Open(Worker& worker, const std::string& peer);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // Of a peer's Memory::key(); kept until the end. UNAVAILABLE.
  Result<ucp_rkey_h> Unpack(const std::string& key);

  // As ucp_put_nbx and ucp_get_nbx: null (done), an error, or a request that the caller awaits or frees.
  ucs_status_ptr_t Put(std::span<const std::byte> from, std::uint64_t to, ucp_rkey_h key);
  ucs_status_ptr_t Get(std::span<std::byte> into, std::uint64_t from, ucp_rkey_h key);
  // Ends when all puts are in the peer's memory.
  ucs_status_ptr_t Flush();

  // Not empty: why it can be used no more.
  const std::string& broken() const { return broken_; }

 private:
  explicit Endpoint(Worker& worker) : worker_(worker) {}
  static void Broke(void* endpoint, ucp_ep_h handle, ucs_status_t status);

  Worker& worker_;
  ucp_ep_h handle_ = nullptr;
  std::vector<ucp_rkey_h> keys_;
  std::string broken_;
};

}  // namespace glim::ucx
