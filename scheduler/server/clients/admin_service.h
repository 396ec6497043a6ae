// AdminApi: what operators ask.
#pragma once

#include "glim/v1/admin_api.grpc.pb.h"
#include "scheduler/server/clients/audit_calls.h"
#include "scheduler/server/clients/budget_calls.h"
#include "scheduler/server/clients/node_calls.h"
#include "scheduler/server/clients/token_calls.h"
#include "scheduler/server/door/door.h"
#include "scheduler/server/loop/policy_keeper.h"
#include "scheduler/server/loop/scheduler_loop.h"

namespace glim::server {

class AdminService final : public v1::AdminApi::CallbackService {
 public:
  // All outlive the service.
  AdminService(SchedulerLoop* loop, PolicyKeeper* policy, Door* door, NodeAffairs* nodes, CaRotation* rotation);
  ~AdminService() override;

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

  grpc::ServerUnaryReactor* ListBudgets(grpc::CallbackServerContext* context, const v1::ListBudgetsRequest* request,
                                        v1::ListBudgetsResponse* response) override {
    return server::ListBudgets(door_, loop_, context, *request, response);
  }
  grpc::ServerUnaryReactor* SetBudget(grpc::CallbackServerContext* context, const v1::SetBudgetRequest* request,
                                      v1::SetBudgetResponse* response) override {
    return server::SetBudget(door_, loop_, context, *request, response);
  }
  grpc::ServerUnaryReactor* CreateToken(grpc::CallbackServerContext* context, const v1::CreateTokenRequest* request,
                                        v1::CreateTokenResponse* response) override {
    return server::CreateToken(door_, context, *request, response);
  }
  grpc::ServerUnaryReactor* ListTokens(grpc::CallbackServerContext* context, const v1::ListTokensRequest* request,
                                       v1::ListTokensResponse* response) override {
    return server::ListTokens(door_, context, *request, response);
  }
  grpc::ServerUnaryReactor* RevokeToken(grpc::CallbackServerContext* context, const v1::RevokeTokenRequest* request,
                                        v1::RevokeTokenResponse* response) override {
    return server::RevokeToken(door_, context, *request, response);
  }
  grpc::ServerUnaryReactor* InviteNode(grpc::CallbackServerContext* context, const v1::InviteNodeRequest* request,
                                       v1::InviteNodeResponse* response) override {
    return server::InviteNode(door_, nodes_, context, *request, response);
  }
  grpc::ServerUnaryReactor* RevokeNode(grpc::CallbackServerContext* context, const v1::RevokeNodeRequest* request,
                                       v1::RevokeNodeResponse* response) override {
    return server::RevokeNode(door_, nodes_, context, *request, response);
  }
  grpc::ServerUnaryReactor* LabelNode(grpc::CallbackServerContext* context, const v1::LabelNodeRequest* request,
                                      v1::LabelNodeResponse* response) override {
    return server::LabelNode(door_, nodes_, context, *request, response);
  }
  grpc::ServerUnaryReactor* RotateCa(grpc::CallbackServerContext* context, const v1::RotateCaRequest* request,
                                     v1::RotateCaResponse* response) override {
    return server::RotateCa(door_, rotation_, context, *request, response);
  }
  grpc::ServerUnaryReactor* ListAudit(grpc::CallbackServerContext* context, const v1::ListAuditRequest* request,
                                      v1::ListAuditResponse* response) override {
    return server::ListAudit(door_, context, *request, response);
  }
  grpc::ServerUnaryReactor* VerifyAudit(grpc::CallbackServerContext* context, const v1::VerifyAuditRequest* request,
                                        v1::VerifyAuditResponse* response) override {
    return server::VerifyAudit(door_, context, *request, response);
  }

 private:
  SchedulerLoop* loop_;
  PolicyKeeper* policy_;
  Door* door_;
  NodeAffairs* nodes_;
  CaRotation* rotation_;
};

}  // namespace glim::server
