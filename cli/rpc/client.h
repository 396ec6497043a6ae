// Calls to the scheduler: one channel, a deadline on every call, the token in its metadata, Ctrl-C cancels. The channel
// is TLS, to a scheduler of the authority that is known, unless the mode is plaintext: then no token is ever sent.
// Owns the channel and the stubs; borrows the Interruption, which must outlive it. Main thread only.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include "cli/rpc/config.h"
#include "cli/rpc/identity.h"
#include "cli/rpc/interruption.h"
#include "glim/v1/admin_api.grpc.pb.h"
#include "glim/v1/client_api.grpc.pb.h"
#include "glim/v1/layout_api.grpc.pb.h"
#include "glim/v1/log_api.grpc.pb.h"
#include "glim/v1/operate_api.grpc.pb.h"
#include "glim/v1/report_api.grpc.pb.h"
#include "glim/v1/reserve_api.grpc.pb.h"
#include "glim/v1/sched_api.grpc.pb.h"
#include "sdk/base/result.h"
#include "sdk/base/time.h"

namespace glim::cli {

// A unary call of a generated stub.
template <typename Stub, typename Request, typename Response>
using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);

class Client {
 public:
  // What is known of the scheduler, and the token, are looked for at the first call.
  Client(const Settings& settings, Interruption* interruption);
  // For a login: as `identity` says, also without a token.
  Client(const Settings& settings, Identity identity, Interruption* interruption);

  // A unary call: client.Call(&ClientApi::Stub::GetJob, request). kUnavailable when the scheduler cannot be reached
  // (within a second or two), kDeadlineExceeded when it does not answer in time, kCancelled after Ctrl-C;
  // kUnauthenticated when there is no token, or not the scheduler that it is for.
  template <typename Request, typename Response>
  Result<Response> Call(Method<glim::v1::ClientApi::Stub, Request, Response> method, const Request& request) {
    return CallOn(&Client::client_, method, request);
  }
  template <typename Request, typename Response>
  Result<Response> Call(Method<glim::v1::AdminApi::Stub, Request, Response> method, const Request& request) {
    return CallOn(&Client::admin_, method, request);
  }
  template <typename Request, typename Response>
  Result<Response> Call(Method<glim::v1::ReportApi::Stub, Request, Response> method, const Request& request) {
    return CallOn(&Client::report_, method, request);
  }
  template <typename Request, typename Response>
  Result<Response> Call(Method<glim::v1::ReserveApi::Stub, Request, Response> method, const Request& request) {
    return CallOn(&Client::reserve_, method, request);
  }
  template <typename Request, typename Response>
  Result<Response> Call(Method<glim::v1::SchedApi::Stub, Request, Response> method, const Request& request) {
    return CallOn(&Client::sched_, method, request);
  }

  template <typename Request, typename Response>
  Result<Response> Call(Method<glim::v1::LayoutApi::Stub, Request, Response> method, const Request& request) {
    return CallOn(&Client::layout_, method, request);
  }

  template <typename Request, typename Response>
  Result<Response> Call(Method<glim::v1::LogApi::Stub, Request, Response> method, const Request& request) {
    return CallOn(&Client::log_, method, request);
  }

  template <typename Request, typename Response>
  Result<Response> Call(Method<glim::v1::OperateApi::Stub, Request, Response> method, const Request& request) {
    return CallOn(&Client::operate_, method, request);
  }

  // Hands every part of the log to `take` until the log ends. No deadline if the request says `follow`.
  Status StreamLog(const glim::v1::StreamLogRequest& request,
                   const std::function<void(const glim::v1::StreamLogResponse&)>& take);

  // Hands every page of events to `take`; no deadline if the request says `follow`.
  Status StreamEvents(const glim::v1::StreamEventsRequest& request,
                      const std::function<void(const glim::v1::StreamEventsResponse&)>& take);

  Result<glim::v1::Job> GetJob(std::uint64_t job_id);
  // Its spec as a job file; empty for callers who may not see all of it.
  Result<std::string> GetJobFile(std::uint64_t job_id);

  // The scheduler's database is away since then, by its answer to the last unary call, which was as of that moment; 0:
  // it is there.
  TimePoint stale_since() const { return stale_since_; }
  const std::string& server() const { return settings_.server; }
  const Settings& settings() const { return settings_; }
  Interruption* interruption() const { return interruption_; }
  // What the calls are made by; plaintext: empty.
  Result<Identity> identity();

 private:
  Result<glim::v1::GetJobResponse> AskForJob(std::uint64_t job_id);
  template <typename Stub, typename Request, typename Response>
  Result<Response> CallOn(std::unique_ptr<Stub> Client::*stub, Method<Stub, Request, Response> method,
                          const Request& request) {
    if (Status connected = Connect(); !connected.ok()) return connected;
    grpc::ClientContext context;
    Prepare(&context, /*bounded=*/true);
    Response response;
    const Interruption::Watch watch(interruption_, &context);
    const grpc::Status status = ((this->*stub).get()->*method)(&context, request, &response);
    ReadStaleSince(context);
    if (!status.ok()) return Explain(status);
    return response;
  }

  // A call that is answered part by part.
  template <typename Reader, typename Request, typename Response>
  Status Stream(Reader (glim::v1::ClientApi::Stub::*method)(grpc::ClientContext*, const Request&),
                const Request& request, const std::function<void(const Response&)>& take);
  Status Connect();
  void Prepare(grpc::ClientContext* context, bool bounded) const;
  void ReadStaleSince(const grpc::ClientContext& context);
  Status Explain(const grpc::Status& status) const;

  Settings settings_;
  std::optional<Identity> identity_;
  bool needs_token_ = true;
  TimePoint stale_since_;
  Interruption* interruption_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<glim::v1::ClientApi::Stub> client_;
  std::unique_ptr<glim::v1::AdminApi::Stub> admin_;
  std::unique_ptr<glim::v1::LayoutApi::Stub> layout_;
  std::unique_ptr<glim::v1::LogApi::Stub> log_;
  std::unique_ptr<glim::v1::OperateApi::Stub> operate_;
  std::unique_ptr<glim::v1::ReportApi::Stub> report_;
  std::unique_ptr<glim::v1::ReserveApi::Stub> reserve_;
  std::unique_ptr<glim::v1::SchedApi::Stub> sched_;
};

}  // namespace glim::cli
