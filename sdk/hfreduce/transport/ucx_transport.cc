#include "sdk/hfreduce/transport/ucx_transport.h"

#include <poll.h>
#include <sys/epoll.h>
#include <ucp/api/ucp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "sdk/base/check.h"
#include "sdk/hfreduce/transport/ucx_peer.h"
#include "sdk/io/random_bytes.h"
#include "sdk/net/rdma.h"
#include "sdk/net/socket.h"
#include "sdk/net/ucx/worker.h"

namespace glim::hfreduce {
namespace {

constexpr Duration kCloseWait = Seconds(1);
constexpr int kProgressAtOnce = 16;
// A transport that is never armed because its caller spins still has to notice that a peer is gone.
constexpr int kCallsBetweenControlChecks = 4096;

std::string InvitationKey(const TransportOptions& options, NodeIndex from, NodeIndex to) {
  return "ucx/" + options.id + "/" + std::to_string(from) + "/" + std::to_string(to);
}

class UcxTransport final : public Transport {
 public:
  UcxTransport() = default;
  ~UcxTransport() override;

  Status Open(const TransportOptions& options, NodeIndex self, std::vector<Edge> edges, Store& store,
              const net::Deadline& deadline);

  bool TrySend(NodeIndex to, const MessageHeader& header, std::span<const std::byte> payload) override {
    return Find(to).TrySend(header, payload);
  }
  void Release(NodeIndex from, Stream stream, SlotId slot) override { Find(from).Release(stream, slot); }
  void LingerFor(Duration at_most) override { linger_ = at_most; }
  bool Progress(Receiver& receiver) override;
  int EventDescriptor() const override { return epoll_.get(); }
  bool Arm() override;
  std::uint64_t BytesSentTo(NodeIndex peer) const override { return Find(peer).bytes_sent(); }
  const char* Name() const override { return name_; }
  std::size_t MessageBytesMax() const override { return kTransportMessageBytesMax; }

 private:
  Status OpenWorker(const TransportOptions& options);
  Status Watch(int descriptor);
  Status Exchange(const TransportOptions& options, NodeIndex self, Store& store, const net::Deadline& deadline);
  UcxPeer& Find(NodeIndex node) const;
  static ucs_status_t OnActiveMessage(void* transport, const void* header, std::size_t header_bytes, void* data,
                                      std::size_t bytes, const ucp_am_recv_param_t* param);
  void CheckControls();
  bool FailBroken(Receiver& receiver, bool quiet);
  void AwaitRequest(ucs_status_ptr_t request, const net::Deadline& deadline);
  void AwaitArrivals(const net::Deadline& soon);
  void AwaitGoodbyes(const net::Deadline& deadline);

  std::unique_ptr<net::ucx::Worker> worker_;  // outlives the peers
  UniqueFd epoll_;
  std::vector<std::unique_ptr<UcxPeer>> peers_;
  const char* name_ = "ucx";
  bool armed_ = false;
  int calls_ = 0;
  Duration linger_ = kLingerUntold;
};

UcxPeer& UcxTransport::Find(NodeIndex node) const {
  for (const auto& peer : peers_) {
    if (peer->node() == node) return *peer;
  }
  GLIM_CHECK(false, "node " + std::to_string(node) + " is not a peer");
}

Status UcxTransport::OpenWorker(const TransportOptions& options) {
  if (net::NamesVerbs(options.ucx_tls)) name_ = "verbs";
  Result<std::unique_ptr<net::ucx::Worker>> worker = net::ucx::Worker::Open({.tls = options.ucx_tls,
                                                                             .net_devices = options.ucx_net_devices,
                                                                             .service_level = options.service_level,
                                                                             .active_messages = true});
  if (!worker.ok()) return worker.status();
  worker_ = std::move(*worker);
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kActiveMessage;
  handler.cb = OnActiveMessage;
  handler.arg = this;
  const ucs_status_t status = ucp_worker_set_am_recv_handler(worker_->handle(), &handler);
  return status == UCS_OK ? Status::Ok() : net::ucx::Failure("no UCX active messages", status);
}

Status UcxTransport::Watch(int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0) return Status::Ok();
  return {StatusCode::kUnavailable, "epoll: " + net::ErrnoText(errno)};
}

Status UcxTransport::Open(const TransportOptions& options, NodeIndex self, std::vector<Edge> edges, Store& store,
                          const net::Deadline& deadline) {
  if (Status opened = OpenWorker(options); !opened.ok()) return opened;
  epoll_.Reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return {StatusCode::kUnavailable, "no epoll descriptor: " + net::ErrnoText(errno)};
  if (Status watched = Watch(worker_->event_descriptor()); !watched.ok()) return watched;
  for (Edge& edge : edges) {
    peers_.push_back(std::make_unique<UcxPeer>(std::move(edge)));
    if (Status watched = Watch(peers_.back()->control()); !watched.ok()) return watched;
  }
  return Exchange(options, self, store, deadline);
}

Status UcxTransport::Exchange(const TransportOptions& options, NodeIndex self, Store& store,
                              const net::Deadline& deadline) {
  for (const auto& peer : peers_) {
    Result<UcxInvitation> invitation = peer->Invite(*worker_, RandomNumber());
    if (!invitation.ok()) return invitation.status();
    const std::string key = InvitationKey(options, self, peer->node());
    if (Status written = store.Set(key, invitation->Encode()); !written.ok()) return written;
  }
  for (const auto& peer : peers_) {
    const std::string whom = "node " + std::to_string(peer->node()) + ": ";
    Result<std::string> text = store.Get(InvitationKey(options, peer->node(), self), deadline.Remaining());
    if (!text.ok()) return {text.status().code(), whom + text.status().message()};
    Result<UcxInvitation> invitation = UcxInvitation::Decode(*text);
    if (!invitation.ok()) return {invitation.status().code(), whom + invitation.status().message()};
    if (Status joined = peer->Join(*worker_, *invitation); !joined.ok()) return joined;
  }
  return Status::Ok();
}

ucs_status_t UcxTransport::OnActiveMessage(void* transport, const void* header, std::size_t header_bytes, void* data,
                                           std::size_t bytes, const ucp_am_recv_param_t* param) {
  const auto* head = static_cast<const std::byte*>(header);
  // Whoever is not one of ours is not heard; a payload that UCX would still have to fetch is none of ours either.
  if (header_bytes != kEdgeNumberBytes + kFrameBytes) return UCS_OK;
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) return UCS_OK;
  std::uint64_t number = 0;
  std::memcpy(&number, head, sizeof number);
  for (const auto& peer : static_cast<UcxTransport*>(transport)->peers_) {
    if (peer->edge_number() != number) continue;
    peer->Arrive({head + kEdgeNumberBytes, kFrameBytes}, {static_cast<const std::byte*>(data), bytes});
  }
  return UCS_OK;
}

void UcxTransport::CheckControls() {
  for (const auto& peer : peers_) peer->CheckControl();
  calls_ = 0;
  armed_ = false;
}

bool UcxTransport::Progress(Receiver& receiver) {
  bool any = false;
  // Before UCX: what a peer sent before its end is there by the time that this sees the end, but perhaps not a moment
  // earlier.
  if (armed_ || ++calls_ >= kCallsBetweenControlChecks) CheckControls();
  for (int i = 0; i < kProgressAtOnce && worker_->Progress(); ++i) any = true;
  for (const auto& peer : peers_) {
    if (peer->failed()) continue;
    if (peer->Deliver(receiver)) any = true;
    if (peer->ReportSent(receiver)) any = true;
  }
  for (const auto& peer : peers_) peer->FlushUrgentReturns();
  return FailBroken(receiver, !any) || any;
}

bool UcxTransport::FailBroken(Receiver& receiver, bool quiet) {
  bool any = false;
  for (const auto& peer : peers_) {
    if (peer->failed()) continue;
    if (quiet && !peer->ending().empty()) peer->Break(peer->ending());
    if (peer->broken().empty()) continue;
    // UCX may hold payloads until the endpoint is gone.
    AwaitRequest(peer->StartClose(), net::Deadline(kCloseWait));
    peer->Fail(receiver);
    any = true;
  }
  return any;
}

bool UcxTransport::Arm() {
  for (const auto& peer : peers_) {
    if (!peer->failed() && (peer->has_work() || !peer->broken().empty() || !peer->ending().empty())) return false;
  }
  armed_ = true;
  return worker_->Arm();
}

// One that does not end in time is left to UCX.
void UcxTransport::AwaitRequest(ucs_status_ptr_t request, const net::Deadline& deadline) {
  const Status ended = worker_->Await(request, deadline.Remaining(), "UCX");
  if (ended.code() == StatusCode::kDeadlineExceeded) ucp_request_free(request);
}

// A peer that is late takes what was put when it gets there. Without this end of the connection it never would: where
// UCX has no real puts (over its tcp), a put that cannot be answered ends the peer's process.
void UcxTransport::AwaitArrivals(const net::Deadline& soon) {
  const net::Deadline late(linger_);
  for (const auto& peer : peers_) {
    const ucs_status_ptr_t flush = peer->StartFlush();
    if (!UCS_PTR_IS_PTR(flush)) continue;
    while (ucp_request_check_status(flush) == UCS_INPROGRESS && !(peer->gone() ? soon : late).Passed()) {
      if (worker_->Progress()) continue;
      CheckControls();
      pollfd waiting{epoll_.get(), POLLIN, 0};
      if (worker_->Arm()) ::poll(&waiting, 1, 1);
    }
    ucp_request_free(flush);
  }
}

// A peer whose endpoint goes before it has read everything loses the rest. So both say goodbye, and each goes when it
// has heard the other, or will not hear it.
void UcxTransport::AwaitGoodbyes(const net::Deadline& deadline) {
  for (const auto& peer : peers_) peer->SayGoodbye();
  for (;;) {
    while (worker_->Progress()) {
    }
    CheckControls();
    const bool all = std::all_of(peers_.begin(), peers_.end(), [](const auto& peer) { return peer->gone(); });
    if (all || deadline.Passed()) return;
    pollfd waiting{epoll_.get(), POLLIN, 0};
    ::poll(&waiting, 1, 1);
  }
}

UcxTransport::~UcxTransport() {
  if (worker_) {
    const net::Deadline soon(kCloseWait);
    if (epoll_) AwaitArrivals(soon);
    // A peer that was late is given the time for its goodbye that others had.
    const net::Deadline deadline(linger_ > kCloseWait && soon.Passed() ? kCloseWait : soon.Remaining());
    if (epoll_) AwaitGoodbyes(deadline);
    for (const auto& peer : peers_) AwaitRequest(peer->StartClose(), deadline);
  }
}

}  // namespace

bool UcxIsBuilt() { return true; }

Result<std::unique_ptr<Transport>> MakeUcxTransport(const TransportOptions& options, NodeIndex self,
                                                    std::vector<Edge> edges, Store& store,
                                                    const net::Deadline& deadline) {
  std::vector<NodeIndex> peers;
  peers.reserve(edges.size());
  for (const Edge& edge : edges) peers.push_back(edge.peer);
  auto transport = std::make_unique<UcxTransport>();
  Status opened = transport->Open(options, self, std::move(edges), store, deadline);
  if (opened.ok()) return std::unique_ptr<Transport>(std::move(transport));
  // Peers need not wait for what will not come. (Those that have an invitation find the connection ended.)
  for (const NodeIndex peer : peers) {
    (void)store.Set(InvitationKey(options, self, peer), UcxInvitation::Refusal(opened.message()));
  }
  return opened;
}

}  // namespace glim::hfreduce
