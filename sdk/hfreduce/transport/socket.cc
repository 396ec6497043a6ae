#include "sdk/hfreduce/transport/socket.h"

#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <system_error>

namespace glim::hfreduce {
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

const sockaddr* Raw(const SocketAddress& address) { return reinterpret_cast<const sockaddr*>(&address.storage); }

}  // namespace

std::string ErrnoText(int error) { return std::generic_category().message(error); }

Duration Deadline::Remaining() const {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - std::chrono::steady_clock::now());
  return Milliseconds(std::max<std::int64_t>(0, left.count()));
}

int Deadline::PollTimeout(Duration cap) const { return static_cast<int>(std::min(Remaining(), cap).ms); }

std::string SocketAddress::ToString() const {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  const int error =
      ::getnameinfo(Raw(*this), length, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
  if (error != 0) return "?";
  return storage.ss_family == AF_INET6 ? "[" + std::string(host) + "]:" + port : std::string(host) + ":" + port;
}

bool SocketAddress::IsAny() const {
  if (storage.ss_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr.s_addr == htonl(INADDR_ANY);
  }
  return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr);
}

Result<SocketAddress> ResolveAddress(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0 || found == nullptr) {
    return Status(StatusCode::kInvalidArgument, "no address for host '" + host + "': " + ::gai_strerror(error));
  }
  SocketAddress address;
  std::copy_n(reinterpret_cast<const char*>(found->ai_addr), found->ai_addrlen,
              reinterpret_cast<char*>(&address.storage));
  address.length = found->ai_addrlen;
  ::freeaddrinfo(found);
  return address;
}

Result<SocketAddress> ParseAddress(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::uint16_t port = 0;
  if (colon != std::string::npos) {
    const auto parsed = std::from_chars(text.data() + colon + 1, text.data() + text.size(), port);
    if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && port != 0) {
      std::string host = text.substr(0, colon);
      if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
      return ResolveAddress(host, port);
    }
  }
  return Status(StatusCode::kInvalidArgument, "'" + text + "' is not an address of the form host:port");
}

Result<UniqueFd> Listen(const SocketAddress& address) {
  Result<UniqueFd> socket = StreamSocket(address);
  if (!socket.ok()) return socket;
  const int one = 1;
  ::setsockopt(socket->get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(socket->get(), Raw(address), address.length) != 0 || ::listen(socket->get(), kBacklog) != 0) {
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

Result<UniqueFd> StartConnect(const SocketAddress& address) {
  Result<UniqueFd> socket = StreamSocket(address);
  if (!socket.ok()) return socket;
  if (::connect(socket->get(), Raw(address), address.length) != 0 && errno != EINPROGRESS && errno != EINTR) {
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

}  // namespace glim::hfreduce
