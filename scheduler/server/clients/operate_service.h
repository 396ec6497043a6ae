// OperateApi: what operators do with nodes and jobs, and users with their own jobs. Handlers check and post; what a
// change would hit is told from the snapshot, and a dry run asks the core and changes nothing.
#pragma once

#include "glim/v1/operate_api.grpc.pb.h"
#include "scheduler/server/door/call.h"
#include "scheduler/server/loop/scheduler_loop.h"

namespace glim::server {

class OperateService final : public v1::OperateApi::CallbackService {
 public:
  // All outlive the service.
  OperateService(SchedulerLoop* loop, Door* door);
  ~OperateService() override;

  grpc::ServerUnaryReactor* CordonNode(grpc::CallbackServerContext* context, const v1::CordonNodeRequest* request,
                                       v1::CordonNodeResponse* response) override;
  grpc::ServerUnaryReactor* DrainNode(grpc::CallbackServerContext* context, const v1::DrainNodeRequest* request,
                                      v1::DrainNodeResponse* response) override;
  grpc::ServerUnaryReactor* UncordonNode(grpc::CallbackServerContext* context, const v1::UncordonNodeRequest* request,
                                         v1::UncordonNodeResponse* response) override;
  grpc::ServerUnaryReactor* ValidateNode(grpc::CallbackServerContext* context, const v1::ValidateNodeRequest* request,
                                         v1::ValidateNodeResponse* response) override;
  grpc::ServerUnaryReactor* UpdateJob(grpc::CallbackServerContext* context, const v1::UpdateJobRequest* request,
                                      v1::UpdateJobResponse* response) override;
  grpc::ServerUnaryReactor* SetJobPriority(grpc::CallbackServerContext* context,
                                           const v1::SetJobPriorityRequest* request,
                                           v1::SetJobPriorityResponse* response) override;
  grpc::ServerUnaryReactor* MoveJob(grpc::CallbackServerContext* context, const v1::MoveJobRequest* request,
                                    v1::MoveJobResponse* response) override;
  grpc::ServerUnaryReactor* WeighJobs(grpc::CallbackServerContext* context, const v1::WeighJobsRequest* request,
                                      v1::WeighJobsResponse* response) override;
  grpc::ServerUnaryReactor* CancelUserJobs(grpc::CallbackServerContext* context,
                                           const v1::CancelUserJobsRequest* request,
                                           v1::CancelUserJobsResponse* response) override;

 private:
  // Posts, with the audit note unless nothing is to change.
  Call* PostChange(Call* call, decltype(core::Event::what) event, bool dry_run, AuditNote note,
                   std::function<void(const core::Reply&)> on_reply);
  template <typename Response>
  grpc::ServerUnaryReactor* Cordon(Call* call, core::CordonNode event, const std::string& expect, Response* response);

  SchedulerLoop* loop_;
  Door* door_;
};

}  // namespace glim::server
