#include "cli/rpc/client.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include "cli/rpc/connection_fault.h"
#include "cli/rpc/grpc_status.h"
#include "sdk/pki/sign.h"

namespace glim::cli {
namespace {

constexpr Duration kPatienceMax = Minutes(2);
constexpr int kResponseBytesMax = 64 * 1024 * 1024;

// `authorities`: PEM; empty: plaintext. `patience`: of one attempt to connect, handshake included. It is as long as a
// call may last: a scheduler that strangers flood, or a thousand agents come back to, takes seconds over TLS.
std::shared_ptr<grpc::Channel> OpenChannel(const std::string& server, const std::string& authorities,
                                           Duration patience) {
  // What went wrong is told by this program: gRPC's own lines would come in between. (Not for who asks for them.)
  ::setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  grpc::ChannelArguments arguments;
  arguments.SetInt("grpc.min_reconnect_backoff_ms", static_cast<int>(std::min(patience, kPatienceMax).ms));
  arguments.SetInt("grpc.initial_reconnect_backoff_ms", 250);
  arguments.SetInt("grpc.max_reconnect_backoff_ms", 5'000);
  arguments.SetInt("grpc.dns_min_time_between_resolutions_ms", 500);
  // A followed log may be silent for hours: a dead peer must be noticed all the same.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  // The scheduler is inside: a web proxy from the environment has no business here.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(kResponseBytesMax);
  arguments.SetUserAgentPrefix("glim-cli/" GLIM_VERSION);
  if (authorities.empty()) return grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), arguments);
  // It has this name by whatever address it is reached, and its authority gives it to schedulers alone.
  arguments.SetSslTargetNameOverride(pki::kSchedulerName);
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = authorities;
  return grpc::CreateCustomChannel(server, grpc::SslCredentials(options), arguments);
}

TimePoint WallNow() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

Status NoToken(const std::string& server) {
  return Status(StatusCode::kUnauthenticated, fmt::format("you are not logged in to the scheduler at {}", server))
      .WithReason("NO_TOKEN")
      .WithFix("'glim login' on a host for logins, 'glim login --oidc', or 'glim login --token' with a token of yours");
}

}  // namespace

Client::Client(const Settings& settings, Interruption* interruption)
    : settings_(settings), interruption_(interruption) {
  if (settings_.insecure) identity_.emplace();
}

Client::Client(const Settings& settings, Identity identity, Interruption* interruption)
    : settings_(settings), identity_(std::move(identity)), needs_token_(false), interruption_(interruption) {}

Result<Identity> Client::identity() {
  if (!identity_) {
    Result<Identity> found = FindIdentity(settings_, OperatorFolders());
    if (!found.ok()) return found.status();
    identity_ = *std::move(found);
  }
  return *identity_;
}

Status Client::Connect() {
  if (channel_) return Status::Ok();
  if (Result<Identity> found = identity(); !found.ok()) return found.status();
  if (!settings_.insecure && needs_token_ && identity_->token.empty()) return NoToken(settings_.server);
  channel_ = OpenChannel(settings_.server, settings_.insecure ? "" : identity_->authorities, settings_.call_timeout);
  client_ = glim::v1::ClientApi::NewStub(channel_);
  admin_ = glim::v1::AdminApi::NewStub(channel_);
  layout_ = glim::v1::LayoutApi::NewStub(channel_);
  log_ = glim::v1::LogApi::NewStub(channel_);
  operate_ = glim::v1::OperateApi::NewStub(channel_);
  report_ = glim::v1::ReportApi::NewStub(channel_);
  reserve_ = glim::v1::ReserveApi::NewStub(channel_);
  sched_ = glim::v1::SchedApi::NewStub(channel_);
  return Status::Ok();
}

void Client::Prepare(grpc::ClientContext* context, bool bounded) const {
  if (settings_.insecure) {
    context->AddMetadata("glim-user", settings_.user);
  } else if (!identity_->token.empty()) {
    context->AddMetadata("authorization", "Bearer " + identity_->token);
  }
  if (!bounded) return;
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(settings_.call_timeout.ms));
}

void Client::ReadStaleSince(const grpc::ClientContext& context) {
  const auto& metadata = context.GetServerInitialMetadata();
  const auto found = metadata.find("glim-stale-since-ms");
  stale_since_ = {};
  if (found != metadata.end()) {
    std::from_chars(found->second.begin(), found->second.end(), stale_since_.ms);
  }
}

Status Client::Explain(const grpc::Status& status) const {
  if (interruption_->raised()) return Interruption::Cancelled();
  // A deadline that passed without a connection is a server that is not there, not one that is slow.
  const bool connected = channel_->GetState(false) == GRPC_CHANNEL_READY;
  // Nobody here cancelled it: it met a scheduler that was ending.
  const bool cut = status.error_code() == grpc::StatusCode::CANCELLED;
  const bool unreachable = cut || status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                           (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED && !connected);
  if (unreachable && status.error_details().empty()) {
    Status fault = connected ? Status::Ok()
                             : TlsFault(settings_.server, settings_.insecure ? "" : identity_->authorities, WallNow());
    if (!fault.ok()) return fault;
    return Status(StatusCode::kUnavailable,
                  fmt::format("the scheduler at {} cannot be reached\n{}", settings_.server, status.error_message()))
        .WithReason("UNREACHABLE")
        .WithFix("check that it runs, or name another with --server or GLIM_SERVER");
  }
  Status out = FromGrpc(status);
  if (out.code() != StatusCode::kDeadlineExceeded || !out.reason().empty()) return out;
  return Status(StatusCode::kDeadlineExceeded,
                fmt::format("the scheduler at {} did not answer in time", settings_.server))
      .WithFix("try again, or allow more time with --timeout");
}

template <typename Reader, typename Request, typename Response>
Status Client::Stream(Reader (glim::v1::ClientApi::Stub::*method)(grpc::ClientContext*, const Request&),
                      const Request& request, const std::function<void(const Response&)>& take) {
  if (Status begun = Connect(); !begun.ok()) return begun;
  grpc::ClientContext context;
  Prepare(&context, /*bounded=*/!request.follow());
  const Interruption::Watch watch(interruption_, &context);
  const Reader reader = (client_.get()->*method)(&context, request);
  Response part;
  while (reader->Read(&part)) take(part);
  const grpc::Status status = reader->Finish();
  return status.ok() ? Status::Ok() : Explain(status);
}

Status Client::StreamLog(const glim::v1::StreamLogRequest& request,
                         const std::function<void(const glim::v1::StreamLogResponse&)>& take) {
  return Stream(&glim::v1::ClientApi::Stub::StreamLog, request, take);
}

Status Client::StreamEvents(const glim::v1::StreamEventsRequest& request,
                            const std::function<void(const glim::v1::StreamEventsResponse&)>& take) {
  return Stream(&glim::v1::ClientApi::Stub::StreamEvents, request, take);
}

Result<glim::v1::GetJobResponse> Client::AskForJob(std::uint64_t job_id) {
  glim::v1::GetJobRequest request;
  request.set_job_id(job_id);
  return Call(&glim::v1::ClientApi::Stub::GetJob, request);
}

Result<glim::v1::Job> Client::GetJob(std::uint64_t job_id) {
  Result<glim::v1::GetJobResponse> response = AskForJob(job_id);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_job());
}

Result<std::string> Client::GetJobFile(std::uint64_t job_id) {
  Result<glim::v1::GetJobResponse> response = AskForJob(job_id);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_file());
}

}  // namespace glim::cli
