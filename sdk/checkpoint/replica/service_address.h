// Addresses "host:port" of services, and UCX's devices for a way there. Any thread; nothing is kept.
#pragma once

#include <string>

#include "sdk/base/result.h"
#include "sdk/io/unique_fd.h"
#include "sdk/net/address.h"
#include "sdk/tokens/ed25519.h"

namespace glim::checkpoint {

// A service as tasks are told of it: by which key it is known, and where it is.
struct ReplicaPeer {
  Ed25519Key key{};
  std::string address;  // host:port
};
// "KEY@HOST:PORT", the key in 64 lower-case hexadecimal digits. INVALID_ARGUMENT.
Result<ReplicaPeer> ParsePeer(const std::string& text);
std::string PeerText(const ReplicaPeer& peer);

// Port 0 is allowed: any free one. INVALID_ARGUMENT.
Result<net::SocketAddress> ListenAddress(const std::string& text);

struct Listening {
  UniqueFd socket;
  std::string address;  // as others connect to it
  std::string devices;  // DevicesFor it
};
// INVALID_ARGUMENT, also of 0.0.0.0, which nobody can be told; UNAVAILABLE: somebody else has the port.
Result<Listening> ListenAt(const std::string& text);

// UCX_TLS of a service: as it was told, for "all" what the environment says, else all but shared memory, which its
// clients on other nodes have no use for. INVALID_ARGUMENT: shared memory by name, whose files confined processes
// cannot open.
Result<std::string> ServiceTransports(const std::string& told);

// For UCX_NET_DEVICES: the interface by which the kernel reaches this address or that has it, and, but for the loopback
// one, every RDMA port that is active and leads out of this machine. Left to itself UCX takes any interface that is up,
// also one from which no way leads to the peer. Empty, which leaves it to UCX: the environment has UCX_NET_DEVICES, the
// address is every one of this machine's, or it cannot be reached.
std::string DevicesFor(const net::SocketAddress& address);

}  // namespace glim::checkpoint
