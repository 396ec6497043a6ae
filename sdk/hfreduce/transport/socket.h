// The few calls on stream sockets that the transports and the store share. Nothing here blocks, but for the resolver of
// host names. Errors: UNAVAILABLE with the address in the text, INVALID_ARGUMENT for an address that is none.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <string>

#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/io/unique_fd.h"

namespace glim::hfreduce {

// A point in time on the steady clock.
class Deadline {
 public:
  explicit Deadline(Duration from_now)
      : at_(std::chrono::steady_clock::now() + std::chrono::milliseconds(from_now.ms)) {}
  bool Passed() const { return std::chrono::steady_clock::now() >= at_; }
  // Rounded up, so that a wait for it does not end just before; never negative.
  Duration Remaining() const;
  // For poll: at most `cap`.
  int PollTimeout(Duration cap) const;

 private:
  std::chrono::steady_clock::time_point at_;
};

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  // "127.0.0.1:4000", "[::1]:4000".
  std::string ToString() const;
  // 0.0.0.0 or ::, which nobody can connect to.
  bool IsAny() const;
};

Result<SocketAddress> ResolveAddress(const std::string& host, std::uint16_t port);
// What ToString made.
Result<SocketAddress> ParseAddress(const std::string& text);

// Sockets are nonblocking and closed on exec. `port` 0 picks a free one.
Result<UniqueFd> Listen(const SocketAddress& address);
Result<SocketAddress> LocalAddress(int socket);
// The connection may still be under way: when the socket is writable, ConnectError says how it went (0: connected).
Result<UniqueFd> StartConnect(const SocketAddress& address);
int ConnectError(int socket);
// None: nobody is waiting.
UniqueFd Accept(int listener);
std::string ErrnoText(int error);

}  // namespace glim::hfreduce
