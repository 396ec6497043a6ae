#include "cli/rpc/client.h"

#include <charconv>
#include <chrono>

#include <fmt/format.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include "cli/rpc/grpc_status.h"

namespace glim::cli {
namespace {

constexpr int kConnectMs = 2000;
constexpr int kResponseBytesMax = 64 * 1024 * 1024;

std::shared_ptr<grpc::Channel> Connect(const std::string& server) {
  grpc::ChannelArguments arguments;
  // How long one attempt to connect may last: a server that does not answer at all is noticed by then.
  arguments.SetInt("grpc.min_reconnect_backoff_ms", kConnectMs);
  arguments.SetInt("grpc.initial_reconnect_backoff_ms", 250);
  arguments.SetInt("grpc.max_reconnect_backoff_ms", kConnectMs);
  arguments.SetInt("grpc.dns_min_time_between_resolutions_ms", 500);
  // A followed log may be silent for hours: a dead peer must be noticed all the same.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 60'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  // The scheduler is inside: a web proxy from the environment has no business here.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(kResponseBytesMax);
  arguments.SetUserAgentPrefix("glim-cli/" GLIM_VERSION);
  return grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

Client::Client(const Settings& settings, Interruption* interruption)
    : settings_(settings),
      interruption_(interruption),
      channel_(Connect(settings.server)),
      client_(glim::v1::ClientApi::NewStub(channel_)),
      admin_(glim::v1::AdminApi::NewStub(channel_)) {}

void Client::Prepare(grpc::ClientContext* context, bool bounded) const {
  context->AddMetadata("glim-user", settings_.user);
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

Result<glim::v1::Job> Client::GetJob(std::uint64_t job_id) {
  glim::v1::GetJobRequest request;
  request.set_job_id(job_id);
  Result<glim::v1::GetJobResponse> response = Call(&glim::v1::ClientApi::Stub::GetJob, request);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_job());
}

}  // namespace glim::cli
