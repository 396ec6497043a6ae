#include "scheduler/server/listen/port_acceptor.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <utility>

#include "sdk/log/log.h"
#include "sdk/net/address.h"
#include "sdk/net/socket.h"

namespace glim::server {
namespace {

constexpr int kAtOnce = 64;
constexpr int kPauseMs = 100;      // without room in the process
constexpr int kTurnMs = 5;         // while somebody waits for a turn
constexpr int kSilentMs = 30'000;  // of data that nobody acknowledges
constexpr std::chrono::seconds kWarnEvery{10};

Status CannotListen(const std::string& why) { return {StatusCode::kUnavailable, why}; }

// "[::1]:7601", "head:7601". False: it has no port.
bool Split(const std::string& address, std::string* host, std::uint16_t* port) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return false;
  *host = address.substr(0, colon);
  const char* const end = address.data() + address.size();
  const auto [at, error] = std::from_chars(address.data() + colon + 1, end, *port);
  return error == std::errc() && at == end;
}

void SetPort(std::uint16_t port, net::SocketAddress* address) {
  in_port_t& place = address->storage.ss_family == AF_INET6
                         ? reinterpret_cast<sockaddr_in6*>(&address->storage)->sin6_port
                         : reinterpret_cast<sockaddr_in*>(&address->storage)->sin_port;
  place = htons(port);
}

// A name may have an address that this machine lacks; a port that another process has is a fault.
bool IsOfNoAddressHere(const Status& status) {
  return status.message().ends_with(net::ErrnoText(EADDRNOTAVAIL)) ||
         status.message().ends_with(net::ErrnoText(EAFNOSUPPORT));
}

bool IsUnix(const net::SocketAddress& from) { return from.storage.ss_family == AF_UNIX; }

// An IPv4 address where it came to a port of all kinds: "::ffff:10.0.0.7" is 10.0.0.7, as gRPC has it.
net::SocketAddress Plain(const net::SocketAddress& from) {
  const auto& six = reinterpret_cast<const sockaddr_in6&>(from.storage);
  if (from.storage.ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) return from;
  net::SocketAddress plain;
  plain.length = sizeof(sockaddr_in);
  auto& four = reinterpret_cast<sockaddr_in&>(plain.storage);
  four.sin_family = AF_INET;
  four.sin_port = six.sin6_port;
  std::memcpy(&four.sin_addr, &six.sin6_addr.s6_addr[12], sizeof four.sin_addr);
  return plain;
}

void SetOptions(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // a Unix socket has neither
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kSilentMs, sizeof kSilentMs);
}

// Has hung up while it waited: it needs no turn.
bool IsGone(const UniqueFd& socket) {
  char byte = 0;
  return ::recv(socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

}  // namespace

Result<std::unique_ptr<PortAcceptor>> PortAcceptor::Bind(const std::string& address, OpenConnections* connections,
                                                         bool proven) {
  std::unique_ptr<PortAcceptor> acceptor(new PortAcceptor(connections, proven));
  acceptor->stop_.Reset(::eventfd(0, EFD_CLOEXEC));
  if (!acceptor->stop_) return CannotListen(net::ErrnoText(errno));
  if (address.starts_with("unix:")) {
    if (Status status = acceptor->ListenOnPath(address.substr(5)); !status.ok()) return status;
    return acceptor;
  }
  std::string host;
  std::uint16_t port = 0;
  if (!Split(address, &host, &port)) return CannotListen("it is not of the form host:port");
  Status listens;
  if (host.empty() || host == "*") {  // both kinds of address, where there are both
    listens = acceptor->ListenOn("[::]", port);
    if (!listens.ok() && IsOfNoAddressHere(listens)) listens = acceptor->ListenOn("0.0.0.0", port);
  } else {
    listens = acceptor->ListenOn(host, port);
  }
  if (!listens.ok()) return listens;
  return acceptor;
}

Status PortAcceptor::ListenOn(const std::string& host, std::uint16_t port) {
  constexpr const char* kSome = ":1";  // what is parsed has a port
  auto places = net::ParseAddresses(host + kSome);
  if (!places.ok()) return CannotListen(places.status().message());
  Status last;
  for (net::SocketAddress& place : *places) {
    SetPort(port_ != 0 ? static_cast<std::uint16_t>(port_) : port, &place);  // the one that the system chose, for all
    auto socket = net::Listen(place);
    if (!socket.ok() && !IsOfNoAddressHere(socket.status())) return socket.status();
    if (!socket.ok()) {
      last = socket.status();
      continue;
    }
    ::listen(socket->get(), SOMAXCONN);  // a longer queue: agents come back all at once
    const auto own = net::LocalAddress(socket->get());
    if (!own.ok()) return own.status();
    port_ = own->port();
    listening_.push_back(std::move(socket).value());
  }
  return listening_.empty() ? last : Status::Ok();
}

Status PortAcceptor::ListenOnPath(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) return CannotListen("the path is empty or too long");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return CannotListen(net::ErrnoText(errno));
  ::unlink(path.c_str());  // of one that was killed
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0) {
    return CannotListen(net::ErrnoText(errno));
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
  waiting_ = {};
  if (!path_.empty()) ::unlink(std::exchange(path_, {}).c_str());
}

// Until when to wait for who connects; -1: for ever.
int PortAcceptor::LookAtStrangers() {
  const TimePoint now = SteadyNow();
  if (now >= look_at_) {
    const auto pause = open_->EndGreedyStrangers(now);
    look_at_ = now + pause.value_or(Duration());
    if (!pause) return -1;
  }
  return static_cast<int>((look_at_ - now).ms);
}

void PortAcceptor::Run() {
  std::vector<pollfd> ready{{stop_.get(), POLLIN, 0}};
  for (const UniqueFd& one : listening_) ready.push_back({one.get(), POLLIN, 0});
  Room room = Room::kSome;
  std::chrono::steady_clock::time_point warned_at;
  while (true) {
    const int look_ms = LookAtStrangers();
    // Without room only the end is waited for: whoever waits to be taken would wake this again at once.
    const bool takes = room == Room::kSome;
    const bool turns = !waiting_.empty() || room == Room::kLater;
    const int wait_ms = turns ? kTurnMs : takes ? look_ms : kPauseMs;
    const int count = ::poll(ready.data(), takes ? ready.size() : 1, wait_ms);
    if (count < 0 && errno != EINTR) return LogError("a port is not listened to any more port={}", port_);
    if (ready[0].revents != 0) return;
    room = Room::kSome;
    for (std::size_t i = 1; i < ready.size(); ++i) room = std::max(room, TakeAll(ready[i].fd));
    GiveTurns();
    const auto now = std::chrono::steady_clock::now();
    if (room != Room::kNone || now - warned_at < kWarnEvery) continue;
    warned_at = now;
    LogWarning("no descriptor is left for who connects: they wait port={} connections={}", port_, open_->count());
  }
}

void PortAcceptor::GiveTurns() {
  while (!waiting_.empty() && open_->HasTurn(SteadyNow())) {
    Newcomers::One one = waiting_.Next();
    if (IsGone(one.socket)) continue;
    const OpenConnections::Socket socket{one.socket.get(), CookieOf(one.socket.get())};
    // Who is one too many is hung up on.
    if (!open_->Take(one.host, one.peer, socket, SteadyNow())) continue;
    SetOptions(one.socket.get());
    Server::NewConnectionParameters connection;
    connection.listener_fd = one.listener;
    connection.fd = one.socket.Release();
    server_->HandleNewConnection(&connection);
  }
}

PortAcceptor::Room PortAcceptor::TakeAll(int listener) {
  for (int i = 0; i < kAtOnce; ++i) {  // who keeps on coming keeps no other port from its turn
    GiveTurns();
    if (waiting_.IsFull(SteadyNow())) return Room::kLater;
    net::SocketAddress from;
    from.length = sizeof from.storage;
    UniqueFd taken(
        ::accept4(listener, reinterpret_cast<sockaddr*>(&from.storage), &from.length, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!taken) {
      const int error = errno;
      if (error == EINTR || error == ECONNABORTED || error == EPROTO) continue;
      const bool none = error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
      return none ? Room::kNone : Room::kSome;
    }
    const bool local = IsUnix(from);  // its callers are one
    const net::SocketAddress plain = local ? from : Plain(from);
    waiting_.Add({local ? "unix" : plain.Host(), proven_ && !local ? plain.ToString() : "", listener, std::move(taken),
                  SteadyNow()});
  }
  return Room::kSome;
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
