#include "nodeagent/identity/scheduler_link.h"

#include <utility>

#include "sdk/pki/sign.h"

namespace glim::nodeagent {
namespace {

// Of one attempt to connect, TLS included. When all agents come back at once a scheduler's processors are behind with
// their handshakes for seconds, all of which then last equally long: with a shorter bound every one of them would be
// given up before it is done, and begun anew, for ever. A machine that comes back is noticed earlier: TCP asks again
// after 1, 3, 7 and 15 seconds.
constexpr int kConnectMsMax = 20'000;

}  // namespace

std::shared_ptr<grpc::Channel> ConnectScheduler(const std::string& target,
                                                const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                                                std::size_t bytes_max) {
  grpc::ChannelArguments arguments;
  // The agent's own pauses decide when to try again, not the channel's, which grow to two minutes.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMsMax);  // so it is called, and what it is
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Pings rarer than servers tolerate by default; the timeout is also TCP's for unacknowledged data, so that a
  // scheduler whose machine vanished is noticed by the next reports.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 310'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(static_cast<int>(bytes_max));
  arguments.SetSslTargetNameOverride(pki::kSchedulerName);
  return grpc::CreateCustomChannel(target, credentials ? credentials : grpc::InsecureChannelCredentials(), arguments);
}

std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const NodeCredentials& own) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = pki::PemOf(own.authorities);
  options.pem_private_key = own.key.Pem();
  options.pem_cert_chain = own.certificate.Pem();
  return grpc::SslCredentials(options);
}

SchedulerLink::SchedulerLink(std::string target, const std::optional<NodeCredentials>& credentials,
                             std::size_t bytes_max)
    : target_(std::move(target)), bytes_max_(bytes_max) {
  if (credentials) {
    Use(*credentials);
  } else {
    stub_ = v1::AgentApi::NewStub(ConnectScheduler(target_, nullptr, bytes_max_));
  }
}

void SchedulerLink::Use(const NodeCredentials& credentials) {
  stub_ = v1::AgentApi::NewStub(ConnectScheduler(target_, CredentialsOf(credentials), bytes_max_));
}

}  // namespace glim::nodeagent
