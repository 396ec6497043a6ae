// A way from a worker to a peer's, and the peer's memory that may be written and read over it.
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/net/ucx/worker.h"

namespace glim::net::ucx {

// One thread at a time; the worker outlives it. Closed at the end by force where UCX allows that: what the peer still
// needs must have been flushed. The end waits for UCX a second at most.
//
// Over verbs UCX (1.13) ends the process (an assertion in ucp_request_send_state_ff) when an endpoint is closed whose
// first words to the peer are still under way: a peer that died just then, or a port that is up and leads nowhere. So
// an endpoint over which nothing has worked yet is given a second to come about (UCX begins by itself, also for one
// that is never used). Else it is not closed, and its worker is left to the end of the process.
class Endpoint {
 public:
  // Told once why it can be used no more, from within Worker::Progress.
  using Broken = std::function<void(const std::string& why)>;

  // `peer`: Worker::address() there. UNAVAILABLE.
  static Result<std::unique_ptr<Endpoint>> Open(Worker& worker, const std::string& peer, Broken on_broken = {});
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

  // For UCX's calls that are not here.
  ucp_ep_h handle() const { return handle_; }
  // Keys and the endpoint are of no use from now on. Null: nothing is to be waited for; else a request, or an error, as
  // ucp_ep_close_nbx gives it. Without this call the end does it.
  ucs_status_ptr_t StartClose();

  // The caller has seen a transfer end well, or something come from the peer.
  void Worked() { worked_ = true; }

  // Not empty: why it can be used no more.
  const std::string& broken() const { return broken_; }

 private:
  Endpoint(Worker& worker, Broken on_broken) : worker_(worker), on_broken_(std::move(on_broken)) {}
  static void OnError(void* endpoint, ucp_ep_h handle, ucs_status_t status);

  Worker& worker_;
  Broken on_broken_;
  ucp_ep_h handle_ = nullptr;
  std::vector<ucp_rkey_h> keys_;
  std::string broken_;
  bool worked_ = false;
};

}  // namespace glim::net::ucx
