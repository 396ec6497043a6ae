// SchedApi: how the scheduler decides. Status and traces are made on snapshots by the adviser's thread, the history is
// read at the history's desk: no pass waits for an answer.
#pragma once

#include "glim/v1/sched_api.grpc.pb.h"
#include "scheduler/server/clients/history_desk.h"
#include "scheduler/server/door/call.h"

namespace glim::server {

class SchedService final : public v1::SchedApi::CallbackService {
 public:
  // All outlive the service. `policy_source`: the file that the policy in force came from; empty: none.
  SchedService(SchedulerLoop* loop, Adviser* adviser, HistoryDesk* desk, Door* door, std::string policy_source);
  ~SchedService() override;

  grpc::ServerUnaryReactor* GetSchedStatus(grpc::CallbackServerContext* context,
                                           const v1::GetSchedStatusRequest* request,
                                           v1::GetSchedStatusResponse* response) override;
  grpc::ServerUnaryReactor* TraceJob(grpc::CallbackServerContext* context, const v1::TraceJobRequest* request,
                                     v1::TraceJobResponse* response) override;
  grpc::ServerUnaryReactor* ExportHistory(grpc::CallbackServerContext* context, const v1::ExportHistoryRequest* request,
                                          v1::ExportHistoryResponse* response) override;

 private:
  grpc::ServerUnaryReactor* Advise(Call* call, const google::protobuf::Message* response, std::function<Status()> work);

  SchedulerLoop* const loop_;
  Adviser* const adviser_;
  HistoryDesk* const desk_;
  Door* const door_;
  const std::string policy_source_;
};

}  // namespace glim::server
