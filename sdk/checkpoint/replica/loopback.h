// Addresses "host:port" of services, and whether they stay on this machine.
#pragma once

#include <string>

#include "sdk/base/result.h"
#include "sdk/hfreduce/transport/socket.h"

namespace glim::checkpoint {

inline constexpr const char* kLoopbackDevice = "lo";  // in UCX_NET_DEVICES

// Port 0 is allowed: any free one. INVALID_ARGUMENT.
Result<hfreduce::SocketAddress> ListenAddress(const std::string& text);
bool IsLoopback(const hfreduce::SocketAddress& address);

}  // namespace glim::checkpoint
