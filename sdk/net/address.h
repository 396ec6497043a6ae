// Addresses of sockets as text: "127.0.0.1:4000", "[::1]:4000".
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/base/result.h"

namespace glim::net {

// A value.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage); }
  // "127.0.0.1:4000", "[::1]:4000"; "?" where there is none.
  std::string ToString() const;
  // "127.0.0.1", "::1".
  std::string Host() const;
  std::uint16_t port() const;
  // 0.0.0.0 or ::, which nobody can connect to.
  bool IsAny() const;
};

// Any thread. Blocks as long as the resolver of host names does. INVALID_ARGUMENT: there is no such host.
Result<SocketAddress> ResolveAddress(const std::string& host, std::uint16_t port);
// What ParseAddress reads; a host's name may have several addresses, and not all of them need be served. Never empty.
Result<std::vector<SocketAddress>> ParseAddresses(const std::string& text);
// What ToString made; a name in the place of the address is resolved. INVALID_ARGUMENT: it has another form.
Result<SocketAddress> ParseAddress(const std::string& text);

}  // namespace glim::net
