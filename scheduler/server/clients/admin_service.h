// AdminApi: what operators ask.
#pragma once

#include "glim/v1/admin_api.grpc.pb.h"
#include "scheduler/server/loop/policy_keeper.h"
#include "scheduler/server/loop/scheduler_loop.h"

namespace glim::server {

class AdminService final : public v1::AdminApi::CallbackService {
 public:
  AdminService(SchedulerLoop* loop, PolicyKeeper* policy) : loop_(loop), policy_(policy) {}

  grpc::ServerUnaryReactor* GetSchedulerStatus(grpc::CallbackServerContext* context,
                                               const v1::GetSchedulerStatusRequest* request,
                                               v1::GetSchedulerStatusResponse* response) override;
  grpc::ServerUnaryReactor* ReturnNode(grpc::CallbackServerContext* context, const v1::ReturnNodeRequest* request,
                                       v1::ReturnNodeResponse* response) override;

  grpc::ServerUnaryReactor* RemoveNode(grpc::CallbackServerContext* context, const v1::RemoveNodeRequest* request,
                                       v1::RemoveNodeResponse* response) override;
  grpc::ServerUnaryReactor* ResolveOutage(grpc::CallbackServerContext* context, const v1::ResolveOutageRequest* request,
                                          v1::ResolveOutageResponse* response) override;
  grpc::ServerUnaryReactor* GetPolicy(grpc::CallbackServerContext* context, const v1::GetPolicyRequest* request,
                                      v1::GetPolicyResponse* response) override;
  grpc::ServerUnaryReactor* ReloadPolicy(grpc::CallbackServerContext* context, const v1::ReloadPolicyRequest* request,
                                         v1::ReloadPolicyResponse* response) override;
  grpc::ServerUnaryReactor* ListAccounts(grpc::CallbackServerContext* context, const v1::ListAccountsRequest* request,
                                         v1::ListAccountsResponse* response) override;
  grpc::ServerUnaryReactor* ChangeAccount(grpc::CallbackServerContext* context, const v1::ChangeAccountRequest* request,
                                          v1::ChangeAccountResponse* response) override;
  grpc::ServerUnaryReactor* GetReport(grpc::CallbackServerContext* context, const v1::GetReportRequest* request,
                                      v1::GetReportResponse* response) override;

 private:
  SchedulerLoop* loop_;
  PolicyKeeper* policy_;
};

}  // namespace glim::server
