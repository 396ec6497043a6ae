#include "sdk/hfreduce/transport/tcp_transport.h"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "sdk/base/check.h"
#include "sdk/hfreduce/transport/tcp_connection.h"
#include "sdk/net/deadline.h"
#include "sdk/net/socket.h"

namespace glim::hfreduce {
namespace {

constexpr int kEventsAtOnce = 16;

class TcpTransport final : public Transport {
 public:
  TcpTransport(UniqueFd epoll, std::vector<Edge> edges);
  ~TcpTransport() override;

  bool TrySend(NodeIndex to, const MessageHeader& header, std::span<const std::byte> payload) override {
    return Find(to).connection.TrySend(header, payload);
  }
  void Release(NodeIndex from, Stream stream, SlotId slot) override { Find(from).connection.Release(stream, slot); }
  void LingerFor(Duration at_most) override { linger_ = at_most; }
  bool Progress(Receiver& receiver) override;
  int EventDescriptor() const override { return epoll_.get(); }
  bool Arm() override;
  std::uint64_t BytesSentTo(NodeIndex peer) const override { return Find(peer).connection.bytes_sent(); }
  const char* Name() const override { return "tcp"; }
  std::size_t MessageBytesMax() const override { return kTransportMessageBytesMax; }

 private:
  struct Peer {
    explicit Peer(Edge edge) : connection(std::move(edge)) {}
    TcpConnection connection;
    bool wants_writable = false;  // what epoll was told
    bool failed = false;
  };

  Peer& Find(NodeIndex node) const {
    for (const auto& peer : peers_) {
      if (peer->connection.peer() == node) return *peer;
    }
    GLIM_CHECK(false, "node " + std::to_string(node) + " is not a peer");
  }
  bool Serve(Receiver& receiver);
  void Watch(Peer& peer);
  bool FailBroken(Receiver& receiver);

  UniqueFd epoll_;
  std::vector<std::unique_ptr<Peer>> peers_;  // a handful: found by looking at each
  bool read_nothing_ = false;
  Duration linger_ = kLingerUntold;
};

TcpTransport::TcpTransport(UniqueFd epoll, std::vector<Edge> edges) : epoll_(std::move(epoll)) {
  for (Edge& edge : edges) {
    auto& peer = *peers_.emplace_back(std::make_unique<Peer>(std::move(edge)));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &peer;
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, peer.connection.socket(), &event);
  }
}

// What was reported Sent, and every control message, shall reach a peer that is alive. A peer answers what it takes,
// and an answer to a closed socket resets the connection: what the peer's kernel has not got by then is lost.
TcpTransport::~TcpTransport() {
  const net::Deadline deadline(linger_);
  std::vector<pollfd> waiting;
  for (;;) {
    waiting.clear();
    for (const auto& peer : peers_) {
      if (peer->failed || peer->connection.Drain()) continue;
      const short events = peer->connection.blocked() ? POLLIN | POLLOUT : POLLIN;
      waiting.push_back({peer->connection.socket(), events, 0});
    }
    if (waiting.empty() || deadline.Passed()) return;
    // Nothing tells of an acknowledgement: look again soon.
    ::poll(waiting.data(), waiting.size(), deadline.PollTimeout(Milliseconds(1)));
  }
}

// Reads and writes where the kernel says that something can be.
bool TcpTransport::Serve(Receiver& receiver) {
  if (peers_.size() == 1) {
    TcpConnection& only = peers_.front()->connection;
    if (only.blocked()) only.Flush();
    return only.Receive(receiver);
  }
  epoll_event events[kEventsAtOnce];
  const int count = ::epoll_wait(epoll_.get(), events, kEventsAtOnce, 0);
  bool any = false;
  for (int i = 0; i < count; ++i) {
    TcpConnection& connection = static_cast<Peer*>(events[i].data.ptr)->connection;
    if ((events[i].events & EPOLLOUT) != 0) connection.Flush();
    if ((events[i].events & ~EPOLLOUT) != 0 && connection.Receive(receiver)) any = true;
  }
  for (const auto& peer : peers_) {
    if (peer->connection.send_failed() && peer->connection.Receive(receiver)) any = true;
  }
  return any;
}

bool TcpTransport::Progress(Receiver& receiver) {
  // A call that follows one that read nothing and told of Sent alone would read nothing again; if something has come
  // meanwhile, the descriptor says so. It saves a small message's answer a system call.
  const bool look = !std::exchange(read_nothing_, false);
  bool any = look && Serve(receiver);
  const bool received = any;
  for (const auto& peer : peers_) {
    if (peer->connection.ReportSent(receiver)) any = true;
  }
  read_nothing_ = look && any && !received;
  for (const auto& peer : peers_) {
    peer->connection.FlushUrgentReturns();
    Watch(*peer);
  }
  return FailBroken(receiver) || any;
}

bool TcpTransport::FailBroken(Receiver& receiver) {
  bool any = false;
  for (const auto& peer : peers_) {
    if (peer->failed || peer->connection.broken().empty()) continue;
    peer->failed = true;
    any = true;
    peer->connection.Close();  // which takes it out of epoll
    receiver.Failed(peer->connection.peer(), peer->connection.broken());
  }
  return any;
}

void TcpTransport::Watch(Peer& peer) {
  if (peer.failed || peer.connection.blocked() == peer.wants_writable) return;
  peer.wants_writable = peer.connection.blocked();
  epoll_event event{};
  event.events = peer.wants_writable ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.ptr = &peer;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, peer.connection.socket(), &event);
}

bool TcpTransport::Arm() {
  bool quiet = true;
  for (const auto& peer : peers_) {
    Watch(*peer);
    if (peer->connection.has_sent()) quiet = false;
    if (!peer->failed && (peer->connection.send_failed() || !peer->connection.broken().empty())) quiet = false;
  }
  return quiet;
}

}  // namespace

Result<std::unique_ptr<Transport>> MakeTcpTransport(std::vector<Edge> edges) {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return Status(StatusCode::kUnavailable, "no epoll descriptor: " + net::ErrnoText(errno));
  return std::unique_ptr<Transport>(std::make_unique<TcpTransport>(std::move(epoll), std::move(edges)));
}

}  // namespace glim::hfreduce
