// AdminApi: what operators ask.
#pragma once

#include "glim/v1/admin_api.grpc.pb.h"
#include "scheduler/server/scheduler_loop.h"

namespace glim::server {

class AdminService final : public v1::AdminApi::CallbackService {
 public:
  explicit AdminService(SchedulerLoop* loop) : loop_(loop) {}

  grpc::ServerUnaryReactor* GetSchedulerStatus(grpc::CallbackServerContext* context,
                                               const v1::GetSchedulerStatusRequest* request,
                                               v1::GetSchedulerStatusResponse* response) override;
  grpc::ServerUnaryReactor* ReturnNode(grpc::CallbackServerContext* context, const v1::ReturnNodeRequest* request,
                                       v1::ReturnNodeResponse* response) override;

 private:
  SchedulerLoop* loop_;
};

}  // namespace glim::server
