#include "scheduler/server/listen/port_acceptor.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>

#include "sdk/log/log.h"

namespace glim::server {
namespace {

constexpr const char* kInUse = "IN_USE";
constexpr int kAtOnce = 64;
constexpr int kPauseMs = 100;      // without room in the process
constexpr int kSilentMs = 30'000;  // of data that nobody acknowledges
constexpr std::chrono::seconds kWarnEvery{10};

std::string Words(int error) { return std::generic_category().message(error); }

Status CannotListen(const std::string& why) { return {StatusCode::kUnavailable, why}; }

TimePoint Now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return TimePoint{std::chrono::duration_cast<std::chrono::milliseconds>(now).count()};
}

struct Place {
  std::string host, port;
};

// "[::1]:7601", "head:7601".
Place PlaceOf(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return {address, ""};
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return {host == "*" ? "" : host, address.substr(colon + 1)};
}

// An address without its port; a Unix socket's callers are one.
std::string PeerOf(const sockaddr_storage& from) {
  if (from.ss_family == AF_UNIX) return "unix";
  std::array<char, NI_MAXHOST> host{};
  const int error = ::getnameinfo(reinterpret_cast<const sockaddr*>(&from), sizeof from, host.data(), host.size(),
                                  nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? host.data() : "?";
}

void SetOptions(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // a Unix socket has neither
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kSilentMs, sizeof kSilentMs);
}

std::uint16_t PortOf(int fd) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) != 0) return 0;
  if (own.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&own)->sin6_port);
  return own.ss_family == AF_INET ? ntohs(reinterpret_cast<const sockaddr_in*>(&own)->sin_port) : 0;
}

}  // namespace

Result<std::unique_ptr<PortAcceptor>> PortAcceptor::Bind(const std::string& address, ConnectionBounds bounds) {
  std::unique_ptr<PortAcceptor> acceptor(new PortAcceptor(bounds));
  acceptor->stop_.Reset(::eventfd(0, EFD_CLOEXEC));
  if (!acceptor->stop_) return CannotListen(Words(errno));
  if (address.starts_with("unix:")) {
    if (Status status = acceptor->ListenOnPath(address.substr(5)); !status.ok()) return status;
    return acceptor;
  }
  const auto [host, port] = PlaceOf(address);
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.empty() ? nullptr : host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) return CannotListen(::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> places(found, &::freeaddrinfo);
  Status last;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    // "*" is both kinds of address; "[::]" takes the other kind as well.
    if (Status status = acceptor->ListenOn(*one, host.empty() && one->ai_family == AF_INET6); !status.ok()) {
      last = std::move(status);
    }
    if (last.reason() == kInUse) return last;
  }
  // A name may have an address that this machine lacks.
  if (acceptor->listening_.empty()) return last;
  return acceptor;
}

Status PortAcceptor::ListenOn(const addrinfo& place, bool v6_alone) {
  UniqueFd socket(::socket(place.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return CannotListen(Words(errno));
  sockaddr_storage own{};
  std::memcpy(&own, place.ai_addr, place.ai_addrlen);
  if (port_ != 0) {  // the one that the system chose, for all addresses
    in_port_t& port = own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&own)->sin6_port
                                                : reinterpret_cast<sockaddr_in*>(&own)->sin_port;
    port = htons(static_cast<std::uint16_t>(port_));
  }
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (v6_alone) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&own), place.ai_addrlen) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    return errno == EADDRINUSE ? CannotListen(Words(errno)).WithReason(kInUse) : CannotListen(Words(errno));
  }
  port_ = PortOf(socket.get());
  listening_.push_back(std::move(socket));
  return Status::Ok();
}

Status PortAcceptor::ListenOnPath(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) return CannotListen("the path is empty or too long");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return CannotListen(Words(errno));
  ::unlink(path.c_str());  // of one that was killed
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    return CannotListen(Words(errno));
  }
  path_ = path;
  listening_.push_back(std::move(socket));
  return Status::Ok();
}

void PortAcceptor::Start(std::unique_ptr<Server> server) {
  server_ = std::move(server);
  thread_ = std::thread([this] { Run(); });
}

void PortAcceptor::Stop() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    if (::write(stop_.get(), &one, sizeof one) != sizeof one) LogWarning("a port does not stop port={}", port_);
    thread_.join();
  }
  listening_.clear();
  if (!path_.empty()) ::unlink(std::exchange(path_, {}).c_str());
}

void PortAcceptor::Run() {
  std::vector<pollfd> ready{{stop_.get(), POLLIN, 0}};
  for (const UniqueFd& one : listening_) ready.push_back({one.get(), POLLIN, 0});
  bool room = true;
  std::chrono::steady_clock::time_point warned_at;
  while (true) {
    // Without room only the end is waited for: whoever waits to be taken would wake this again at once.
    const int count = ::poll(ready.data(), room ? ready.size() : 1, room ? -1 : kPauseMs);
    if (count < 0 && errno != EINTR) return LogError("a port is not listened to any more port={}", port_);
    if (ready[0].revents != 0) return;
    room = true;
    for (std::size_t i = 1; i < ready.size(); ++i) room = TakeAll(ready[i].fd) && room;
    const auto now = std::chrono::steady_clock::now();
    if (room || now - warned_at < kWarnEvery) continue;
    warned_at = now;
    LogWarning("no descriptor is left for who connects: they wait port={} connections={}", port_, open_.count());
  }
}

bool PortAcceptor::TakeAll(int listener) {
  for (int i = 0; i < kAtOnce; ++i) {  // who keeps on coming keeps no other port from its turn
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    UniqueFd taken(::accept4(listener, reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!taken) {
      const int error = errno;
      if (error == EINTR || error == ECONNABORTED || error == EPROTO) continue;
      return error != EMFILE && error != ENFILE && error != ENOBUFS && error != ENOMEM;
    }
    // Who is one too many is hung up on.
    if (!open_.Take(PeerOf(from), taken.get(), CookieOf(taken.get()), Now())) continue;
    SetOptions(taken.get());
    Server::NewConnectionParameters connection;
    connection.listener_fd = listener;
    connection.fd = taken.Release();
    server_->HandleNewConnection(&connection);
  }
  return true;
}

std::size_t RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  if (limit.rlim_cur < limit.rlim_max) {
    rlimit more{limit.rlim_max, limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &more) == 0) limit = more;
  }
  return limit.rlim_cur;
}

}  // namespace glim::server
