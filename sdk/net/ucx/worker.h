// A UCX context with its one worker: what has a service level, and with it a traffic class, of its own.
#pragma once

#include <ucp/api/ucp.h>

#include <memory>
#include <string>

#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/net/rdma.h"

namespace glim::net::ucx {

struct WorkerOptions {
  std::string tls = "all";                // as UCX_TLS; "all": what the environment's UCX_TLS says, else all
  std::string net_devices = "";           // as UCX_NET_DEVICES; empty: what the environment's says, else all
  int service_level = -1;                 // InfiniBand's, 0 to 15; -1: the device's
  bool active_messages = false;           // beside one-sided puts and gets
  std::string rdma_folder = kRdmaFolder;  // another one in tests
};

// UNAVAILABLE: `what` and UCX's own words.
Status Failure(const std::string& what, ucs_status_t status);

// "RLIMIT_MEMLOCK of this process is 65536 bytes": what cards count registered memory against.
std::string LockedMemoryText();

// One thread at a time. Outlives what is opened on it (Memory, Endpoint).
class Worker {
 public:
  // UNAVAILABLE with UCX's words where a device or transport that the options ask for is not there. RESOURCE_EXHAUSTED:
  // verbs were asked for by name, and this process may not lock the memory that UCX needs for them; "all" goes without.
  static Result<std::unique_ptr<Worker>> Open(const WorkerOptions& options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  ucp_context_h context() const { return context_; }
  ucp_worker_h handle() const { return worker_; }
  // Whether UCX looks after peers: it refuses to over shared memory.
  ucp_err_handling_mode_t error_mode() const { return error_mode_; }
  const std::string& address() const { return address_; }  // for Endpoint::Open of a peer

  // Among its transports are those of RDMA ports, and there are such ports.
  bool may_use_verbs() const { return may_use_verbs_; }
  // The end of this leaves what UCX holds, some memory and descriptors, to the end of the process.
  void Abandon() { abandoned_ = true; }
  bool abandoned() const { return abandoned_; }

  // True: something happened, there may be more.
  bool Progress() { return ucp_worker_progress(worker_) != 0; }
  // Readable when there is something to progress, once Arm has said true.
  int event_descriptor() const { return event_descriptor_; }
  // False: there is something to progress now.
  bool Arm() { return ucp_worker_arm(worker_) == UCS_OK; }

  // Progresses until the request has ended, frees it, and returns how. DEADLINE_EXCEEDED: it is still under way, and
  // not freed. Null is a request that has ended well.
  Status Await(ucs_status_ptr_t request, Duration at_most, const std::string& what);

 private:
  Worker() = default;
  static Result<std::unique_ptr<Worker>> OpenOnce(const WorkerOptions& options, ucs_status_t* status);

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_err_handling_mode_t error_mode_ = UCP_ERR_HANDLING_MODE_NONE;
  std::string address_;
  int event_descriptor_ = -1;  // the worker's
  bool may_use_verbs_ = false;
  bool abandoned_ = false;
};

}  // namespace glim::net::ucx
