#include "sdk/checkpoint/replica/replica_client.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "sdk/checkpoint/replica/handshake.h"
#include "sdk/net/socket.h"
#include "sdk/tokens/replica_token.h"

namespace glim::checkpoint {
namespace {

// The worker's descriptor tells of everything but a progress that UCX makes by time.
constexpr Duration kSleepMax = Milliseconds(50);

}  // namespace

Status CheckReplicaOptions(const ReplicaOptions& options) {
  const Result<ReplicaToken> token = ParseReplicaToken(options.token);
  if (!token.ok()) return InvalidArgument("token", token.status().message(), "read it from $GLIM_REPLICA_TOKEN_FILE");
  if (options.attempt != 0 && options.attempt != token->claims.attempt) {
    return InvalidArgument("attempt", "the token is of attempt " + std::to_string(token->claims.attempt) + ", not of " +
                                          std::to_string(options.attempt));
  }
  if (options.rank >= options.world) {
    return InvalidArgument("rank", "rank " + std::to_string(options.rank) + " of " + std::to_string(options.world));
  }
  if (options.block_bytes == 0 || options.depth == 0) {
    return InvalidArgument(options.depth == 0 ? "depth" : "block_bytes", "it has to be above 0");
  }
  return Status::Ok();
}

Result<std::shared_ptr<net::ucx::Worker>> OpenWorkerFor(const net::SocketAddress& peer, const ReplicaOptions& options) {
  const std::string devices = options.ucx_net_devices.empty() ? DevicesFor(peer) : options.ucx_net_devices;
  Result<std::unique_ptr<net::ucx::Worker>> worker =
      net::ucx::Worker::Open({options.ucx_tls, devices, options.service_level});
  if (!worker.ok()) return worker.status();
  return std::shared_ptr<net::ucx::Worker>(std::move(worker).value());
}

ReplicaClient::ReplicaClient(ReplicaPeer peer, std::shared_ptr<net::ucx::Worker> worker, const ReplicaOptions& options,
                             UniqueFd socket)
    : peer_(std::move(peer)), options_(options), worker_(std::move(worker)), stream_(std::move(socket)) {}

ReplicaClient::~ReplicaClient() {
  endpoint_.reset();
  for (ucs_status_ptr_t request : under_way_) {
    if (request != nullptr) ucp_request_free(request);
  }
}

Result<std::unique_ptr<ReplicaClient>> ReplicaClient::Connect(const ReplicaPeer& peer,
                                                              std::shared_ptr<net::ucx::Worker> worker,
                                                              const ReplicaOptions& options) {
  Result<net::SocketAddress> address = net::ParseAddress(peer.address);
  if (!address.ok()) return address.status();
  Result<UniqueFd> socket = net::StartConnect(*address);
  if (!socket.ok()) return socket.status();
  std::unique_ptr<ReplicaClient> client(new ReplicaClient(peer, std::move(worker), options, std::move(socket).value()));
  if (Status connected = client->AwaitConnected(); !connected.ok()) return connected;
  if (Status shaken = client->Handshake(); !shaken.ok()) return shaken;
  return client;
}

Status ReplicaClient::Broken(const Status& status) {
  usable_ = false;
  return Status(status.code(), "replica service " + peer_.address + ": " + status.message())
      .WithReason(status.reason())
      .WithFix(status.fix());
}

Status ReplicaClient::Unexpected() {
  return Broken({StatusCode::kInternal, "it answered with a message of another kind"});
}

Status ReplicaClient::AwaitConnected() {
  pollfd waiting{stream_.descriptor(), POLLOUT, 0};
  if (::poll(&waiting, 1, static_cast<int>(options_.timeout.ms)) == 0) {
    return Broken({StatusCode::kUnavailable, "no connection in time"});
  }
  const int error = net::ConnectError(stream_.descriptor());
  return error == 0 ? Status::Ok() : Broken({StatusCode::kUnavailable, net::ErrnoText(error)});
}

Status ReplicaClient::Handshake() {
  const Result<ReplicaToken> token = ParseReplicaToken(options_.token);
  if (!token.ok()) return token.status();
  const Hello hello{kReplicaProtocol, std::to_string(token->claims.job), options_.attempt, MakeNonce()};
  Result<Challenge> challenge = Ask<Challenge>(hello);
  if (!challenge.ok()) return challenge.status();
  checkpoint::Handshake shake = HandshakeOf(token->claims, hello.nonce, challenge->nonce);
  shake.only_reads = options_.attempt == 0;
  shake.service_key = peer_.key;
  shake.client_worker = worker_->address();
  const Proof proof = Prove(token->seed, Side::kClient, shake);
  Result<Welcome> welcome = Ask<Welcome>(Answer{token->certificate, proof, shake.client_worker});
  if (!welcome.ok()) return welcome.status();
  shake.service_worker = welcome->worker;
  if (!IsProof(peer_.key, Side::kService, shake, welcome->proof)) {
    return Broken(Status(StatusCode::kUnauthenticated,
                         "it is not the service that the scheduler named: it has another "
                         "key")
                      .WithReason("BAD_TOKEN"));
  }
  instance_ = welcome->instance;
  auto endpoint = net::ucx::Endpoint::Open(*worker_, welcome->worker);
  if (!endpoint.ok()) return Broken(endpoint.status());
  endpoint_ = std::move(endpoint).value();
  return Status::Ok();
}

Status ReplicaClient::Await(const net::Deadline& deadline, const char* what) {
  if (worker_->Progress()) return Status::Ok();
  if (endpoint_ != nullptr && !endpoint_->broken().empty()) {
    return Broken({StatusCode::kUnavailable, endpoint_->broken()});
  }
  if (deadline.Passed()) {
    return Broken({StatusCode::kUnavailable,
                   std::string(what) + ": nothing came for " + std::to_string(options_.timeout.ms) + " ms"});
  }
  const short events = stream_.wants_to_write() ? POLLIN | POLLOUT : POLLIN;  // NOLINT(google-runtime-int): poll's type
  pollfd waiting[] = {{worker_->event_descriptor(), POLLIN, 0}, {stream_.descriptor(), events, 0}};
  if (!worker_->Arm()) return Status::Ok();
  (void)::poll(waiting, 2, deadline.PollTimeout(kSleepMax));
  control_is_readable_ = waiting[1].revents != 0;
  return Status::Ok();
}

Result<ControlMessage> ReplicaClient::AskAny(const ControlMessage& request) {
  if (!usable_) return Broken({StatusCode::kUnavailable, "the connection has failed before"});
  if (Status sent = stream_.Send(request); !sent.ok()) return Broken(sent);
  const net::Deadline deadline(options_.timeout);
  ControlMessage answer;
  for (;;) {
    // What was said before the end counts: a refusal is better than "connection ended".
    const Status read = stream_.Read();
    const Result<bool> next = stream_.Next(answer);
    if (!next.ok()) return Broken(next.status());
    if (*next) break;
    if (!read.ok()) return Broken(read);
    if (Status status = Await(deadline, "no answer"); !status.ok()) return status;
    if (Status status = stream_.Flush(); !status.ok()) return Broken(status);
  }
  if (const auto* refused = std::get_if<Refused>(&answer)) {
    const Status status = StatusOf(*refused);
    return Status(status.code(), "replica service " + peer_.address + ": " + status.message())
        .WithReason(status.reason())
        .WithFix(status.fix());
  }
  return answer;
}

// During transfers nothing is due on the control connection: what comes is why the service has ended it.
Status ReplicaClient::LookAtControl() {
  const Status read = stream_.Read();
  ControlMessage message;
  const Result<bool> next = stream_.Next(message);
  if (!next.ok()) return Broken(next.status());
  if (*next) {
    const auto* refused = std::get_if<Refused>(&message);
    return refused != nullptr ? Broken(StatusOf(*refused)) : Unexpected();
  }
  return read.ok() ? read : Broken(read);
}

Result<ucp_rkey_h> ReplicaClient::Unpack(const std::string& key) {
  if (const auto known = keys_.find(key); known != keys_.end()) return known->second;
  Result<ucp_rkey_h> unpacked = endpoint_->Unpack(key);
  if (!unpacked.ok()) return Broken(unpacked.status());
  keys_[key] = *unpacked;
  return unpacked;
}

Status ReplicaClient::Started(ucs_status_ptr_t request, const char* what) {
  if (UCS_PTR_IS_ERR(request)) return Broken(net::ucx::Failure(what, UCS_PTR_STATUS(request)));
  if (request == nullptr) endpoint_->Worked();
  under_way_.push_back(request);
  return Status::Ok();
}

Status ReplicaClient::Settle(std::size_t left) {
  while (under_way_.size() > left) {
    const net::Deadline deadline(options_.timeout);
    ucs_status_ptr_t request = under_way_.front();
    while (request != nullptr && ucp_request_check_status(request) == UCS_INPROGRESS) {
      if (Status status = Await(deadline, "a transfer"); !status.ok()) return status;
      if (!std::exchange(control_is_readable_, false)) continue;
      if (Status status = LookAtControl(); !status.ok()) return status;
    }
    under_way_.pop_front();
    if (request == nullptr) continue;
    const ucs_status_t status = ucp_request_check_status(request);
    ucp_request_free(request);
    if (status != UCS_OK) return Broken(net::ucx::Failure("a transfer", status));
    endpoint_->Worked();
  }
  return Status::Ok();
}

Status ReplicaClient::Put(std::span<const std::byte> from, std::uint64_t to, ucp_rkey_h key) {
  for (std::size_t at = 0; at < from.size(); at += options_.block_bytes) {
    const auto block = from.subspan(at, std::min<std::size_t>(options_.block_bytes, from.size() - at));
    if (Status status = Settle(options_.depth - 1); !status.ok()) return status;
    if (Status status = Started(endpoint_->Put(block, to + at, key), "put"); !status.ok()) return status;
  }
  return Status::Ok();
}

Status ReplicaClient::Flush() {
  if (Status status = Started(endpoint_->Flush(), "flush"); !status.ok()) return status;
  return Settle(0);
}

Status ReplicaClient::StartGet(std::span<std::byte> into, std::uint64_t from, ucp_rkey_h key) {
  return Started(endpoint_->Get(into, from, key), "get");
}

}  // namespace glim::checkpoint
