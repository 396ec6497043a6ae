#include "nodeagent/saves/save_door.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <utility>

#include "sdk/net/socket.h"

namespace glim::nodeagent {
namespace {

constexpr int kLookMs = 50;    // while there are strangers
constexpr int kPauseMs = 100;  // without a descriptor
constexpr int kAtOnce = 64;
constexpr int kSilentMs = 30'000;  // of data that nobody acknowledges

// "[fe80::1%eth0]:7" -> "[fe80::1]:7": gRPC has a link's number, and the system its name.
std::string WithoutLink(std::string peer) {
  const std::size_t link = peer.find('%');
  if (link == std::string::npos) return peer;
  const std::size_t end = std::min(peer.find(']', link), peer.size());
  return peer.erase(link, end - link);
}

// "ipv4:10.0.0.7:51234", "ipv6:%5B::1%5D:51234" -> as SocketAddress::ToString has it.
std::string PeerOfUri(const std::string& uri) {
  std::string peer = uri.substr(std::min(uri.find(':') + 1, uri.size()));
  const std::pair<const char*, const char*> written[] = {{"%5B", "["}, {"%5D", "]"}};
  for (const auto& [code, plain] : written) {
    if (const std::size_t at = peer.find(code); at != std::string::npos) peer.replace(at, 3, plain);
  }
  return WithoutLink(std::move(peer));
}

// A name may have an address that this machine lacks; a port that another process has is a fault.
bool IsOfNoAddressHere(const Status& status) {
  return status.message().ends_with(net::ErrnoText(EADDRNOTAVAIL)) ||
         status.message().ends_with(net::ErrnoText(EAFNOSUPPORT));
}

void SetPort(std::uint16_t port, net::SocketAddress* address) {
  in_port_t& place = address->storage.ss_family == AF_INET6
                         ? reinterpret_cast<sockaddr_in6*>(&address->storage)->sin6_port
                         : reinterpret_cast<sockaddr_in*>(&address->storage)->sin_port;
  place = htons(port);
}

// The kernel's tcp_info is longer than the C library's.
struct TcpInfo {
  tcp_info first;
  std::uint64_t pacing_rate, max_pacing_rate, bytes_acked, bytes_received;
};
static_assert(offsetof(TcpInfo, pacing_rate) == 104);

// 0 where the kernel does not tell.
std::uint64_t BytesFrom(int socket) {
  TcpInfo info{};
  socklen_t length = sizeof info;
  return ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 ? info.bytes_received : 0;
}

}  // namespace

Result<std::unique_ptr<SaveDoor>> SaveDoor::Open(const std::string& listen, SaveDoorBounds bounds) {
  std::unique_ptr<SaveDoor> door(new SaveDoor(bounds));
  door->stop_.Reset(::eventfd(0, EFD_CLOEXEC));
  if (!door->stop_) return Status(StatusCode::kUnavailable, net::ErrnoText(errno));
  if (Status status = door->ListenOn(listen); !status.ok()) return status;
  return door;
}

Status SaveDoor::ListenOn(const std::string& listen) {
  const std::string host = listen.substr(0, listen.rfind(':'));
  std::uint16_t port = 0;
  const char* const digits = listen.data() + std::min(host.size() + 1, listen.size());
  const auto [at, error] = std::from_chars(digits, listen.data() + listen.size(), port);
  if (error != std::errc() || *at != '\0') return InvalidArgument("--saves-listen", "it is not of the form HOST:PORT");
  constexpr const char* kSome = ":1";  // what is parsed has a port
  auto places = net::ParseAddresses(host + kSome);
  if (!places.ok()) return places.status();
  Status last;
  for (net::SocketAddress& place : *places) {
    SetPort(port, &place);  // the one that the system chose, for all
    auto socket = net::Listen(place);
    if (!socket.ok() && !IsOfNoAddressHere(socket.status())) return socket.status();
    if (!socket.ok()) {
      last = socket.status();
      continue;
    }
    const auto own = net::LocalAddress(socket->get());
    if (!own.ok()) return own.status();
    port = own->port();
    listening_.push_back(std::move(socket).value());
  }
  address_ = host + ":" + std::to_string(port);
  return listening_.empty() ? last : Status::Ok();
}

void SaveDoor::Start(Give give) {
  give_ = std::move(give);
  thread_ = std::thread([this] { Run(); });
}

void SaveDoor::Close() {
  if (thread_.joinable()) {
    (void)::eventfd_write(stop_.get(), 1);
    thread_.join();
  }
  listening_.clear();
  const std::lock_guard lock(mutex_);
  for (auto& [peer, connection] : connections_) End(connection);
  connections_.clear();
}

void SaveDoor::Know(const std::string& peer) {
  const std::lock_guard lock(mutex_);
  if (const auto at = connections_.find(PeerOfUri(peer)); at != connections_.end()) at->second.known = true;
}

void SaveDoor::Refuse(const std::string& peer) {
  const std::lock_guard lock(mutex_);
  const auto at = connections_.find(PeerOfUri(peer));
  if (at != connections_.end() && ++at->second.refusals > bounds_.refusals) End(at->second);
}

void SaveDoor::HangUp(const std::string& peer) {
  const std::lock_guard lock(mutex_);
  if (const auto at = connections_.find(PeerOfUri(peer)); at != connections_.end()) End(at->second);
}

// Disconnects it, so that what has come and was not read yet is gone, too; a shutdown would let gRPC read it all.
void SaveDoor::End(Connection& connection) {
  if (std::exchange(connection.ended, true)) return;
  const sockaddr nobody{AF_UNSPEC, {}};
  if (::connect(connection.socket.get(), &nobody, sizeof nobody) != 0) {
    ::shutdown(connection.socket.get(), SHUT_RDWR);
  }
}

void SaveDoor::Run() {
  bool takes = true;
  for (;;) {
    std::vector<pollfd> ready{{stop_.get(), POLLIN, 0}};
    for (const UniqueFd& one : listening_) ready.push_back({one.get(), static_cast<short>(takes ? POLLIN : 0), 0});
    const std::size_t fixed = ready.size();
    std::vector<std::string> peers;
    bool strangers = false;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [peer, connection] : connections_) {
        strangers = strangers || !connection.known;
        ready.push_back({connection.socket.get(), 0, 0});  // its end is told in any case
        peers.push_back(peer);
      }
    }
    (void)::poll(ready.data(), ready.size(), !takes ? kPauseMs : strangers ? kLookMs : -1);
    if (ready[0].revents != 0) return;
    {
      const std::lock_guard lock(mutex_);
      for (std::size_t i = fixed; i < ready.size(); ++i) {
        if ((ready[i].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) connections_.erase(peers[i - fixed]);
      }
    }
    LookAtStrangers();
    takes = true;
    for (std::size_t i = 1; i < fixed; ++i) takes = TakeAll(ready[i].fd) && takes;
  }
}

bool SaveDoor::TakeAll(int listener) {
  for (int i = 0; i < kAtOnce; ++i) {
    net::SocketAddress from;
    from.length = sizeof from.storage;
    UniqueFd taken(
        ::accept4(listener, reinterpret_cast<sockaddr*>(&from.storage), &from.length, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!taken) {
      const int error = errno;
      if (error == EINTR || error == ECONNABORTED || error == EPROTO) continue;
      return error != EMFILE && error != ENFILE && error != ENOBUFS && error != ENOMEM;
    }
    if (!Take(std::move(taken), from, listener)) return false;
  }
  return true;
}

bool SaveDoor::Take(UniqueFd socket, const net::SocketAddress& from, int listener) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &kSilentMs, sizeof kSilentMs);
  UniqueFd own(::fcntl(socket.get(), F_DUPFD_CLOEXEC, 0));
  if (!own) return false;
  {
    const std::lock_guard lock(mutex_);
    const std::string host = from.Host();
    if (!MakeRoom(host)) return true;  // hung up on
    connections_[WithoutLink(from.ToString())] = {std::move(own), host, Clock::now()};
  }
  give_(std::move(socket), listener);
  return true;
}

// Of those that are not ended already: who is takes no place any more.
bool SaveDoor::MakeRoom(const std::string& host) {
  std::size_t all = 0, strangers = 0, here = 0;
  for (const auto& [peer, connection] : connections_) {
    if (connection.ended) continue;
    ++all;
    if (connection.known) continue;
    ++strangers;
    if (connection.host == host) ++here;
  }
  if (here >= bounds_.address_strangers) return EndOldestStranger(&host);
  if (strangers >= bounds_.strangers || all >= bounds_.connections) return EndOldestStranger(nullptr);
  return true;
}

bool SaveDoor::EndOldestStranger(const std::string* host) {
  Connection* oldest = nullptr;
  for (auto& [peer, connection] : connections_) {
    if (connection.known || connection.ended || (host != nullptr && connection.host != *host)) continue;
    if (oldest == nullptr || connection.since < oldest->since) oldest = &connection;
  }
  if (oldest != nullptr) End(*oldest);
  return oldest != nullptr;
}

void SaveDoor::LookAtStrangers() {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  for (auto& [peer, connection] : connections_) {
    if (connection.known || connection.ended) continue;
    const bool late = now - connection.since >= bounds_.stranger_time;
    if (late || BytesFrom(connection.socket.get()) > bounds_.stranger_bytes) End(connection);
  }
}

}  // namespace glim::nodeagent
