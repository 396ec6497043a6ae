#include "nodeagent/saves/save_door.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <thread>
#include <utility>

#include "sdk/net/socket.h"

namespace glim::nodeagent {
namespace {

constexpr int kLookMs = 50;    // while there are strangers
constexpr int kPauseMs = 100;  // without a descriptor
constexpr int kAtOnce = 64;
constexpr int kSilentMs = 30'000;  // of data that nobody acknowledges
// Requests are small. What comes faster than it is looked at waits at the other side.
constexpr int kReceiveBuffer = 64 << 10;
constexpr std::chrono::milliseconds kBetweenLooks{1};  // at who sends
// What a reader says of what it was given: that it has taken some 16 KiB, by frames of 13 bytes, two or three.
constexpr std::uint64_t kGivenForAByte = 64;
constexpr std::uint64_t kBytesEachMs = 4;  // of pings and their answers

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

}  // namespace

Result<std::unique_ptr<SaveDoor>> SaveDoor::Open(const std::string& listen, SaveDoorBounds bounds) {
  std::unique_ptr<SaveDoor> door(new SaveDoor(bounds));
  door->stop_.Reset(::eventfd(0, EFD_CLOEXEC));
  door->arrivals_.Reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!door->stop_ || !door->arrivals_) return Status(StatusCode::kUnavailable, net::ErrnoText(errno));
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
    ::setsockopt(socket->get(), SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);  // of who connects
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
  numbered_.clear();
  connections_.clear();
}

void SaveDoor::Know(const std::string& peer) {
  const std::lock_guard lock(mutex_);
  const auto at = connections_.find(PeerOfUri(peer));
  if (at == connections_.end()) return;
  Connection& connection = at->second;
  connection.known = true;
  connection.counts = net::CountsOf(connection.socket.get()).value_or(connection.counts);
  connection.looked_at = Clock::now();
  connection.unasked = 0;
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

void SaveDoor::End(Connection& connection) {
  if (!std::exchange(connection.ended, true)) net::Disconnect(connection.socket.get());
}

// epoll has it until it is told, whoever else has the socket.
void SaveDoor::Forget(Connections::iterator at) {
  (void)::epoll_ctl(arrivals_.get(), EPOLL_CTL_DEL, at->second.socket.get(), nullptr);
  numbered_.erase(at->second.number);
  connections_.erase(at);
}

void SaveDoor::Run() {
  bool takes = true, strangers = false;
  for (;;) {
    std::vector<pollfd> ready{{stop_.get(), POLLIN, 0}, {arrivals_.get(), POLLIN, 0}};
    const std::size_t fixed = ready.size();
    for (const UniqueFd& one : listening_) ready.push_back({one.get(), static_cast<short>(takes ? POLLIN : 0), 0});
    (void)::poll(ready.data(), ready.size(), !takes ? kPauseMs : strangers ? kLookMs : -1);
    if (ready[0].revents != 0) return;
    if (ready[1].revents != 0) LookAtArrivals();
    takes = true;
    for (std::size_t i = fixed; i < ready.size(); ++i) takes = TakeAll(ready[i].fd) && takes;
    strangers = LookAtStrangers();  // those who have come just now, too: gRPC may have read all that they ever send
    if (ready[1].revents != 0) std::this_thread::sleep_for(kBetweenLooks);
  }
}

// gRPC reads what comes; here it is only counted, and who is gone is forgotten.
void SaveDoor::LookAtArrivals() {
  epoll_event events[kAtOnce];
  const int count = ::epoll_wait(arrivals_.get(), events, kAtOnce, 0);
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  for (int i = 0; i < count; ++i) {
    const std::uint64_t number = events[i].data.u64;  // a copy: the kernel's structure is packed
    const auto found = numbered_.find(number);
    if (found == numbered_.end()) continue;
    if ((events[i].events & (EPOLLHUP | EPOLLERR)) != 0) {
      Forget(found->second);
    } else {
      Look(found->second->second, now);
    }
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
    const std::string peer = WithoutLink(from.ToString());
    if (const auto before = connections_.find(peer); before != connections_.end()) Forget(before);
    const auto now = Clock::now();
    const auto at = connections_.emplace(peer, Connection{std::move(own), host, now, ++numbers_, {}, now}).first;
    numbered_[at->second.number] = at;
    epoll_event arrives{EPOLLIN | EPOLLET, {.u64 = at->second.number}};
    if (::epoll_ctl(arrivals_.get(), EPOLL_CTL_ADD, at->second.socket.get(), &arrives) != 0) {
      Forget(at);
      return false;
    }
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

bool SaveDoor::LookAtStrangers() {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  bool any = false;
  for (auto& [peer, connection] : connections_) {
    if (connection.known || connection.ended) continue;
    any = true;
    Look(connection, now);
  }
  return any;
}

void SaveDoor::Look(Connection& connection, Clock::time_point now) const {
  if (connection.ended) return;
  const auto counts = net::CountsOf(connection.socket.get()).value_or(connection.counts);
  if (!connection.known) {
    const bool late = now - connection.since >= bounds_.stranger_time;
    if (late || counts.received > bounds_.stranger_bytes) End(connection);
    return;
  }
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(now - connection.looked_at);
  const std::uint64_t asked = (counts.given - connection.counts.given) / kGivenForAByte +
                              static_cast<std::uint64_t>(time.count()) * kBytesEachMs;
  connection.unasked += counts.received - connection.counts.received;
  connection.unasked -= std::min(connection.unasked, asked);
  connection.counts = counts;
  connection.looked_at = now;
  if (connection.unasked > bounds_.known_bytes) End(connection);
}

}  // namespace glim::nodeagent
