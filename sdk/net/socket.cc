#include "sdk/net/socket.h"

#include <netinet/in.h>
#include <poll.h>

#include <cerrno>
#include <system_error>

namespace glim::net {
namespace {

constexpr int kBacklog = 1024;

Status Unavailable(const std::string& what, const SocketAddress& address, int error) {
  return {StatusCode::kUnavailable, what + " " + address.ToString() + ": " + ErrnoText(error)};
}

Result<UniqueFd> StreamSocket(const SocketAddress& address) {
  UniqueFd socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return Unavailable("no socket for", address, errno);
  return socket;
}

}  // namespace

std::string ErrnoText(int error) { return std::generic_category().message(error); }

bool WouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

Result<UniqueFd> Listen(const SocketAddress& address) {
  Result<UniqueFd> socket = StreamSocket(address);
  if (!socket.ok()) return socket;
  const int one = 1;
  ::setsockopt(socket->get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(socket->get(), address.raw(), address.length) != 0 || ::listen(socket->get(), kBacklog) != 0) {
    return Unavailable("cannot listen on", address, errno);
  }
  return socket;
}

Result<SocketAddress> LocalAddress(int socket) {
  SocketAddress address;
  address.length = sizeof address.storage;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address.storage), &address.length) != 0) {
    return Status(StatusCode::kUnavailable, "a socket without an address: " + ErrnoText(errno));
  }
  return address;
}

// A datagram socket's connect only picks the route.
Result<SocketAddress> OwnAddressTowards(const SocketAddress& to) {
  const UniqueFd socket(::socket(to.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || ::connect(socket.get(), to.raw(), to.length) != 0) {
    return Status(StatusCode::kUnavailable, "no route to " + to.ToString() + ": " + ErrnoText(errno));
  }
  Result<SocketAddress> own = LocalAddress(socket.get());
  if (!own.ok()) return own;
  if (own->storage.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&own->storage)->sin6_port = 0;
  } else {
    reinterpret_cast<sockaddr_in*>(&own->storage)->sin_port = 0;
  }
  return own;
}

Result<UniqueFd> StartConnect(const SocketAddress& address) {
  Result<UniqueFd> socket = StreamSocket(address);
  if (!socket.ok()) return socket;
  if (::connect(socket->get(), address.raw(), address.length) != 0 && errno != EINPROGRESS && errno != EINTR) {
    return Unavailable("cannot connect to", address, errno);
  }
  return socket;
}

int ConnectError(int socket) {
  int error = 0;
  socklen_t length = sizeof error;
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
  return error;
}

UniqueFd Accept(int listener) { return UniqueFd(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)); }

bool AwaitReady(int socket, short events, const Deadline& deadline) {
  pollfd polled{socket, events, 0};
  while (!deadline.Passed()) {
    if (::poll(&polled, 1, deadline.PollTimeout(Seconds(1))) > 0) return true;
  }
  return false;
}

}  // namespace glim::net
