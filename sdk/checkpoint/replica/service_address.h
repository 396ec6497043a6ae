// Addresses "host:port" of services, and UCX's devices for a way there. Any thread; nothing is kept.
#pragma once

#include <string>

#include "sdk/base/result.h"
#include "sdk/net/address.h"

namespace glim::checkpoint {

// Port 0 is allowed: any free one. INVALID_ARGUMENT.
Result<net::SocketAddress> ListenAddress(const std::string& text);

// For UCX_NET_DEVICES: the interface by which the kernel reaches this address or that has it, and, but for the loopback
// one, every RDMA port that is active and leads out of this machine. Left to itself UCX takes any interface that is up,
// also one from which no way leads to the peer. Empty, which leaves it to UCX: the environment has UCX_NET_DEVICES, the
// address is every one of this machine's, or it cannot be reached.
std::string DevicesFor(const net::SocketAddress& address);

}  // namespace glim::checkpoint
