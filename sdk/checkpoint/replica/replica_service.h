// The service behind glim-replica: holds copies of other nodes' shards in registered memory, within a budget.
//
// Clients find it by a TCP address, show whose attempt they are (sdk/tokens/replica_token.h, handshake.h), and are told
// where in its memory to write to and read from by UCX's one-sided operations, which a process for each connection
// serves (transfer.h). Bounds are by job first, and then for all.
// What it holds dies with it. docs/protocols/replica.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/checkpoint/replica/node_files.h"

namespace glim::checkpoint {

struct ReplicaServiceOptions {
  std::string listen = "127.0.0.1:0";  // port 0: a free one. On a loopback address UCX keeps to that device too
  std::uint64_t memory_bytes = 0;      // for copies and their parts
  // Whose tokens count now; called for each handshake, on Run's thread. No keys: nobody's yet.
  std::function<ReplicaIssuers()> issuers;
  std::optional<Ed25519Seed> seed;  // of its own key; none: it makes one
  std::string program;              // glim-replica: run once for each connection (transfer.h)
  std::string ucx_tls = "all";
  std::string ucx_net_devices;         // empty: as DevicesFor has it for the address
  int service_level = -1;              // InfiniBand's, 0 to 15; -1: the device's
  Duration lease = Hours(1);           // of a job that nobody uses
  Duration handshake = Seconds(10);    // a connection that has shown no token by then is closed
  std::size_t connections_max = 4096;  // with a token, and so processes
  std::size_t job_connections_max = 1024;
  std::size_t strangers_max = 256;  // connections that have shown no token yet; the oldest makes room for a new one
  std::size_t address_strangers_max = 64;  // of these, of one address
};

class ReplicaService {
 public:
  // `log` is told, from Run's thread, what an operator may want to know; may be empty. INVALID_ARGUMENT names the
  // option; UNAVAILABLE: the address, or UCX.
  static Result<std::unique_ptr<ReplicaService>> Create(const ReplicaServiceOptions& options,
                                                        std::function<void(const std::string&)> log);
  virtual ~ReplicaService() = default;

  virtual const ReplicaState& state() const = 0;  // what tasks have to know of it
  // Serves until Stop. One thread, which owns everything; blocks.
  virtual void Run() = 0;
  // From any thread, and from a signal's handler.
  virtual void Stop() = 0;
};

// False: built without UCX; Create says UNIMPLEMENTED then.
bool ReplicaIsBuilt();

}  // namespace glim::checkpoint
