// Addresses as people write them into options and configurations: HOST:PORT, an IPv6 address in brackets. Nobody is
// asked: a name that does not resolve is a name. A refusal is INVALID_ARGUMENT, names `option` and quotes what was
// written. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sdk/base/result.h"

namespace glim {

inline constexpr std::string_view kWriteHostPort = "write HOST:PORT, an IPv6 address in brackets: [::1]:7601";

struct HostPort {
  std::string host;  // an IPv6 address without its brackets
  std::uint16_t port = 0;
};

// Whether port 0 is taken, by which a listener lets the system choose.
enum class PortZero { kRefused, kTaken };

// A host name, an IPv4 address or an IPv6 address, with brackets or without: no port.
bool IsHost(std::string_view text);
Status CheckHost(const std::string& option, const std::string& host);

Result<HostPort> ParseHostPort(const std::string& option, const std::string& text, PortZero zero = PortZero::kRefused);
// "10.0.0.7:80", "[::1]:80"; `host` with brackets or without.
std::string JoinHostPort(const std::string& host, std::uint16_t port);

// Where a server is: HOST:PORT, or what gRPC takes for a socket's path (unix:PATH) or for a name (dns:///HOST:PORT).
Status CheckTarget(const std::string& option, const std::string& target);

// Whether only this machine is reached by it: 127.0.0.0/8, ::1, localhost, a Unix socket.
bool IsLoopbackTarget(const std::string& target);

}  // namespace glim
