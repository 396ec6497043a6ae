#include "sdk/hfreduce/transport/ucx_transport.h"

#include <poll.h>
#include <sys/epoll.h>
#include <ucp/api/ucp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <sstream>

#include "sdk/base/check.h"
#include "sdk/hfreduce/transport/ucx_peer.h"

namespace glim::hfreduce {
namespace {

constexpr Duration kCloseWait = Seconds(1);
constexpr int kProgressAtOnce = 16;
// A transport that is never armed because its caller spins still has to notice that a peer is gone.
constexpr int kCallsBetweenControlChecks = 4096;

std::string InvitationKey(const TransportOptions& options, NodeIndex from, NodeIndex to) {
  return "ucx/" + options.id + "/" + std::to_string(from) + "/" + std::to_string(to);
}

bool UsesTcp(const std::string& tls) { return tls == "all" || tls.find("tcp") != std::string::npos; }

// UCX refuses to look after peers over shared memory; there the control connection alone tells of their end.
ucp_err_handling_mode_t ErrorModeOf(const std::string& tls) {
  std::istringstream names(tls);
  for (std::string name; std::getline(names, name, ',');) {
    if (name != "shm" && name != "sm" && name != "posix" && name != "sysv" && name != "cma" && name != "self") {
      return UCP_ERR_HANDLING_MODE_PEER;
    }
  }
  return UCP_ERR_HANDLING_MODE_NONE;
}

class UcxTransport final : public Transport {
 public:
  UcxTransport() = default;
  ~UcxTransport() override;

  Status Open(const TransportOptions& options, NodeIndex self, std::vector<Edge> edges, Store& store,
              const Deadline& deadline);

  bool TrySend(NodeIndex to, const MessageHeader& header, std::span<const std::byte> payload) override {
    return Find(to).TrySend(header, payload);
  }
  void Release(NodeIndex from, Stream stream, SlotId slot) override { Find(from).Release(stream, slot); }
  bool Progress(Receiver& receiver) override;
  int EventDescriptor() const override { return epoll_.get(); }
  bool Arm() override;
  std::uint64_t BytesSentTo(NodeIndex peer) const override { return Find(peer).bytes_sent(); }
  const char* Name() const override { return "ucx"; }
  std::size_t MessageBytesMax() const override { return kTransportMessageBytesMax; }

 private:
  Status OpenWorker(const TransportOptions& options);
  Status Watch(int descriptor);
  Status Exchange(const TransportOptions& options, NodeIndex self, Store& store, const Deadline& deadline);
  UcxPeer& Find(NodeIndex node) const;
  static ucs_status_t OnActiveMessage(void* transport, const void* header, std::size_t header_bytes, void* data,
                                      std::size_t bytes, const ucp_am_recv_param_t* param);
  void CheckControls();
  bool FailBroken(Receiver& receiver, bool quiet);
  void AwaitRequest(ucs_status_ptr_t request, const Deadline& deadline);
  void AwaitGoodbyes(const Deadline& deadline);

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  UniqueFd epoll_;
  std::vector<std::unique_ptr<UcxPeer>> peers_;
  bool armed_ = false;
  int calls_ = 0;
};

UcxPeer& UcxTransport::Find(NodeIndex node) const {
  for (const auto& peer : peers_) {
    if (peer->node() == node) return *peer;
  }
  GLIM_CHECK(false, "node " + std::to_string(node) + " is not a peer");
}

Status UcxTransport::OpenWorker(const TransportOptions& options) {
  ucp_config_t* config = nullptr;
  if (const ucs_status_t s = ucp_config_read(nullptr, nullptr, &config); s != UCS_OK) return Failure("UCX", s);
  const std::string level = std::to_string(options.service_level);
  // The segment sizes decide what UCX's tcp reaches: its own 8 KiB costs three quarters of the rate. Keys of transports
  // are given without the name of the transport ("TCP_"), which ucp_config_modify takes, but never finds.
  const std::string segment = UsesTcp(options.ucx_tls) ? "256k" : "";
  const std::pair<const char*, const std::string> settings[] = {
      {"TLS", options.ucx_tls},
      {"NET_DEVICES", options.ucx_net_devices},
      {"TX_SEG_SIZE", segment},
      {"RX_SEG_SIZE", segment},
      {"IB_SL", options.service_level < 0 ? std::string() : level},
  };
  ucs_status_t status = UCS_OK;
  for (const auto& [name, value] : settings) {
    if (status == UCS_OK && !value.empty()) status = ucp_config_modify(config, name, value.c_str());
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_RMA | UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  if (status == UCS_OK) status = ucp_init(&params, config, &context_);
  ucp_config_release(config);
  if (status != UCS_OK) return Failure("UCX cannot use '" + options.ucx_tls + "'", status);
  ucp_worker_params_t worker{};
  worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  status = ucp_worker_create(context_, &worker, &worker_);
  if (status != UCS_OK) return Failure("no UCX worker", status);
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = kActiveMessage;
  handler.cb = OnActiveMessage;
  handler.arg = this;
  status = ucp_worker_set_am_recv_handler(worker_, &handler);
  return status == UCS_OK ? Status::Ok() : Failure("no UCX active messages", status);
}

Status UcxTransport::Watch(int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0) return Status::Ok();
  return {StatusCode::kUnavailable, "epoll: " + ErrnoText(errno)};
}

Status UcxTransport::Open(const TransportOptions& options, NodeIndex self, std::vector<Edge> edges, Store& store,
                          const Deadline& deadline) {
  if (Status opened = OpenWorker(options); !opened.ok()) return opened;
  int event_fd = -1;
  if (const ucs_status_t s = ucp_worker_get_efd(worker_, &event_fd); s != UCS_OK) return Failure("UCX cannot wait", s);
  epoll_.Reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return {StatusCode::kUnavailable, "no epoll descriptor: " + ErrnoText(errno)};
  if (Status watched = Watch(event_fd); !watched.ok()) return watched;
  for (Edge& edge : edges) {
    peers_.push_back(std::make_unique<UcxPeer>(std::move(edge)));
    if (Status watched = Watch(peers_.back()->control()); !watched.ok()) return watched;
  }
  return Exchange(options, self, store, deadline);
}

Status UcxTransport::Exchange(const TransportOptions& options, NodeIndex self, Store& store, const Deadline& deadline) {
  ucp_address_t* address = nullptr;
  std::size_t address_bytes = 0;
  if (const ucs_status_t s = ucp_worker_get_address(worker_, &address, &address_bytes); s != UCS_OK) {
    return Failure("no UCX address", s);
  }
  const std::string worker(reinterpret_cast<const char*>(address), address_bytes);
  ucp_worker_release_address(worker_, address);
  std::random_device random;
  for (const auto& peer : peers_) {
    const std::uint64_t number = std::uint64_t{random()} << 32 | random();
    Result<UcxInvitation> invitation = peer->Invite(context_, worker_, number);
    if (!invitation.ok()) return invitation.status();
    invitation->worker = worker;
    const std::string key = InvitationKey(options, self, peer->node());
    if (Status written = store.Set(key, invitation->Encode()); !written.ok()) return written;
  }
  for (const auto& peer : peers_) {
    const std::string whom = "node " + std::to_string(peer->node()) + ": ";
    Result<std::string> text = store.Get(InvitationKey(options, peer->node(), self), deadline.Remaining());
    if (!text.ok()) return {text.status().code(), whom + text.status().message()};
    Result<UcxInvitation> invitation = UcxInvitation::Decode(*text);
    if (!invitation.ok()) return {invitation.status().code(), whom + invitation.status().message()};
    if (Status joined = peer->Join(*invitation, ErrorModeOf(options.ucx_tls)); !joined.ok()) return joined;
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
  for (int i = 0; i < kProgressAtOnce && ucp_worker_progress(worker_) != 0; ++i) any = true;
  if (armed_ || ++calls_ >= kCallsBetweenControlChecks) CheckControls();
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
    AwaitRequest(peer->StartClose(), Deadline(kCloseWait));
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
  return ucp_worker_arm(worker_) == UCS_OK;
}

void UcxTransport::AwaitRequest(ucs_status_ptr_t request, const Deadline& deadline) {
  if (request == nullptr || UCS_PTR_IS_ERR(request)) return;
  while (ucp_request_check_status(request) == UCS_INPROGRESS && !deadline.Passed()) ucp_worker_progress(worker_);
  ucp_request_free(request);
}

// A peer whose endpoint goes before it has read everything loses the rest. So both say goodbye, and each goes when it
// has heard the other, or will not hear it.
void UcxTransport::AwaitGoodbyes(const Deadline& deadline) {
  ucp_request_param_t params{};
  AwaitRequest(ucp_worker_flush_nbx(worker_, &params), deadline);
  for (const auto& peer : peers_) peer->SayGoodbye();
  for (;;) {
    while (ucp_worker_progress(worker_) != 0) {
    }
    CheckControls();
    const bool all = std::all_of(peers_.begin(), peers_.end(), [](const auto& peer) {
      return peer->failed() || !peer->broken().empty() || !peer->ending().empty();
    });
    if (all || deadline.Passed()) return;
    pollfd waiting{epoll_.get(), POLLIN, 0};
    ::poll(&waiting, 1, 1);
  }
}

UcxTransport::~UcxTransport() {
  if (worker_ != nullptr) {
    const Deadline deadline(kCloseWait);
    if (epoll_) AwaitGoodbyes(deadline);
    for (const auto& peer : peers_) AwaitRequest(peer->StartClose(), deadline);
  }
  peers_.clear();
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

}  // namespace

bool UcxIsBuilt() { return true; }

Result<std::unique_ptr<Transport>> MakeUcxTransport(const TransportOptions& options, NodeIndex self,
                                                    std::vector<Edge> edges, Store& store, const Deadline& deadline) {
  auto transport = std::make_unique<UcxTransport>();
  if (Status opened = transport->Open(options, self, std::move(edges), store, deadline); !opened.ok()) return opened;
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace glim::hfreduce
