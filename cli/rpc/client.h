// Calls to the scheduler: one channel, a deadline on every call, the user in its metadata, Ctrl-C cancels.
// Owns the channel and the stubs; borrows the Interruption, which must outlive it. Main thread only.
#pragma once

#include <functional>
#include <memory>

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include "cli/rpc/config.h"
#include "cli/rpc/interruption.h"
#include "glim/v1/admin_api.grpc.pb.h"
#include "glim/v1/client_api.grpc.pb.h"
#include "sdk/base/result.h"
#include "sdk/base/time.h"

namespace glim::cli {

// A unary call of a generated stub.
template <typename Stub, typename Request, typename Response>
using Method = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Response*);

class Client {
 public:
  Client(const Settings& settings, Interruption* interruption);

  // A unary call: client.Call(&ClientApi::Stub::GetJob, request). kUnavailable when the scheduler cannot be reached
  // (within a second or two), kDeadlineExceeded when it does not answer in time, kCancelled after Ctrl-C.
  template <typename Request, typename Response>
  Result<Response> Call(Method<glim::v1::ClientApi::Stub, Request, Response> method, const Request& request) {
    return CallOn(client_.get(), method, request);
  }
  template <typename Request, typename Response>
  Result<Response> Call(Method<glim::v1::AdminApi::Stub, Request, Response> method, const Request& request) {
    return CallOn(admin_.get(), method, request);
  }

  // Hands every part of the log to `take` until the log ends. No deadline if the request says `follow`.
  Status StreamLog(const glim::v1::StreamLogRequest& request,
                   const std::function<void(const glim::v1::StreamLogResponse&)>& take);

  // Hands every page of events to `take`; no deadline if the request says `follow`.
  Status StreamEvents(const glim::v1::StreamEventsRequest& request,
                      const std::function<void(const glim::v1::StreamEventsResponse&)>& take);

  Result<glim::v1::Job> GetJob(std::uint64_t job_id);

  // The scheduler's database is away since then, by its answer to the last unary call, which was as of that moment; 0:
  // it is there.
  TimePoint stale_since() const { return stale_since_; }
  const std::string& server() const { return settings_.server; }

 private:
  template <typename Stub, typename Request, typename Response>
  Result<Response> CallOn(Stub* stub, Method<Stub, Request, Response> method, const Request& request) {
    grpc::ClientContext context;
    Prepare(&context, /*bounded=*/true);
    Response response;
    const Interruption::Watch watch(interruption_, &context);
    const grpc::Status status = (stub->*method)(&context, request, &response);
    ReadStaleSince(context);
    if (!status.ok()) return Explain(status);
    return response;
  }

  // A call that is answered part by part.
  template <typename Reader, typename Request, typename Response>
  Status Stream(Reader (glim::v1::ClientApi::Stub::*method)(grpc::ClientContext*, const Request&),
                const Request& request, const std::function<void(const Response&)>& take);
  void Prepare(grpc::ClientContext* context, bool bounded) const;
  void ReadStaleSince(const grpc::ClientContext& context);
  Status Explain(const grpc::Status& status) const;

  Settings settings_;
  TimePoint stale_since_;
  Interruption* interruption_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<glim::v1::ClientApi::Stub> client_;
  std::unique_ptr<glim::v1::AdminApi::Stub> admin_;
};

}  // namespace glim::cli
