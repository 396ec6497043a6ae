// ClientApi: what users' programs ask. Handlers only decode, check and post; reads are answered
// from the snapshot, those of the past from the store, by way of the strand; the adviser's thread tries things out.
#pragma once

#include <functional>
#include <string>

#include "glim/v1/client_api.grpc.pb.h"
#include "scheduler/server/clients/adviser.h"
#include "scheduler/server/clients/event_stream.h"
#include "scheduler/server/clients/log_stream.h"
#include "scheduler/server/loop/scheduler_loop.h"

namespace glim::server {

inline constexpr int kSpecsMax = 2'000;  // in one Submit; ServerOptions' message size has room for them

class ClientService final : public v1::ClientApi::CallbackService {
 public:
  // All outlive the service.
  ClientService(SchedulerLoop* loop, AgentStrand* strand, LogBroker* broker, EventFeed* feed, Adviser* adviser,
                std::string cluster_id)
      : loop_(loop),
        feed_(feed),
        adviser_(adviser),
        cluster_id_(std::move(cluster_id)),
        logs_{strand, broker, loop, {}} {}

  grpc::ServerUnaryReactor* Submit(grpc::CallbackServerContext* context, const v1::SubmitRequest* request,
                                   v1::SubmitResponse* response) override;
  grpc::ServerUnaryReactor* Cancel(grpc::CallbackServerContext* context, const v1::CancelRequest* request,
                                   v1::CancelResponse* response) override;
  grpc::ServerUnaryReactor* Suspend(grpc::CallbackServerContext* context, const v1::SuspendRequest* request,
                                    v1::SuspendResponse* response) override;
  grpc::ServerUnaryReactor* Resume(grpc::CallbackServerContext* context, const v1::ResumeRequest* request,
                                   v1::ResumeResponse* response) override;
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context, const v1::ListJobsRequest* request,
                                     v1::ListJobsResponse* response) override;
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context, const v1::GetJobRequest* request,
                                   v1::GetJobResponse* response) override;
  grpc::ServerUnaryReactor* ExplainJob(grpc::CallbackServerContext* context, const v1::ExplainJobRequest* request,
                                       v1::ExplainJobResponse* response) override;
  grpc::ServerUnaryReactor* PlanJob(grpc::CallbackServerContext* context, const v1::PlanJobRequest* request,
                                    v1::PlanJobResponse* response) override;
  grpc::ServerUnaryReactor* ListNodes(grpc::CallbackServerContext* context, const v1::ListNodesRequest* request,
                                      v1::ListNodesResponse* response) override;
  grpc::ServerWriteReactor<v1::StreamLogResponse>* StreamLog(grpc::CallbackServerContext* context,
                                                             const v1::StreamLogRequest* request) override;
  grpc::ServerWriteReactor<v1::StreamEventsResponse>* StreamEvents(grpc::CallbackServerContext* context,
                                                                   const v1::StreamEventsRequest* request) override;
  grpc::ServerUnaryReactor* ListHistory(grpc::CallbackServerContext* context, const v1::ListHistoryRequest* request,
                                        v1::ListHistoryResponse* response) override;
  grpc::ServerUnaryReactor* GetVersion(grpc::CallbackServerContext* context, const v1::GetVersionRequest* request,
                                       v1::GetVersionResponse* response) override;

 private:
  grpc::ServerUnaryReactor* Advise(grpc::CallbackServerContext* context, std::string user,
                                   std::function<Status()> work);
  // Cancel, suspend and resume: the same call but for the event.
  template <typename Event, typename Request, typename Response>
  grpc::ServerUnaryReactor* PostForJob(grpc::CallbackServerContext* context, const Request& request,
                                       Response* response);

  SchedulerLoop* loop_;
  EventFeed* feed_;
  Adviser* adviser_;
  const std::string cluster_id_;
  LogStream::Owner logs_;
};

}  // namespace glim::server
