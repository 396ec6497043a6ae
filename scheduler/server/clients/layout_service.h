// LayoutApi: pools, zones and links, and changes of many rows at once. Handlers check and post; a dry run asks the core
// and changes nothing.
#pragma once

#include "glim/v1/layout_api.grpc.pb.h"
#include "scheduler/server/door/door.h"
#include "scheduler/server/loop/scheduler_loop.h"

namespace glim::server {

class LayoutService final : public v1::LayoutApi::CallbackService {
 public:
  // Both outlive the service.
  LayoutService(SchedulerLoop* loop, Door* door);
  ~LayoutService() override;

  grpc::ServerUnaryReactor* ListLayout(grpc::CallbackServerContext* context, const v1::ListLayoutRequest* request,
                                       v1::ListLayoutResponse* response) override;
  grpc::ServerUnaryReactor* ChangeRows(grpc::CallbackServerContext* context, const v1::ChangeRowsRequest* request,
                                       v1::ChangeRowsResponse* response) override;

 private:
  SchedulerLoop* loop_;
  Door* door_;
};

}  // namespace glim::server
