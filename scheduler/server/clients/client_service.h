// ClientApi: what users' programs ask. Handlers only decode, check and post; reads are answered
// from the snapshot, those of the past from the store, by way of the strand; the adviser's thread tries things out.
// Every call comes in by the door (door/door.h), which says who asks and whether it may be.
//
// Sources: client_service.cc (what is read), client_service_changes.cc (what is changed)
#pragma once

#include <functional>
#include <string>

#include "glim/v1/client_api.grpc.pb.h"
#include "scheduler/server/clients/adviser.h"
#include "scheduler/server/clients/event_stream.h"
#include "scheduler/server/clients/history_desk.h"
#include "scheduler/server/clients/log_stream.h"
#include "scheduler/server/clients/stream_watch.h"
#include "scheduler/server/clients/user_calls.h"
#include "scheduler/server/clients/web_codes.h"
#include "scheduler/server/door/call.h"
#include "scheduler/server/loop/scheduler_loop.h"

namespace glim::server {

class ClientService final : public v1::ClientApi::CallbackService {
 public:
  // All outlive the service.
  ClientService(SchedulerLoop* loop, AgentStrand* strand, LogBroker* broker, EventFeed* feed, Adviser* adviser,
                HistoryDesk* desk, Door* door, StreamWatch* watch, SecretAffairs* secrets, OidcAffairs* oidc,
                WebCodes* web_codes, std::string cluster_id);
  ~ClientService() override;

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
  grpc::ServerUnaryReactor* WhoAmI(grpc::CallbackServerContext* context, const v1::WhoAmIRequest* request,
                                   v1::WhoAmIResponse* response) override;

  grpc::ServerUnaryReactor* SetSecret(grpc::CallbackServerContext* context, const v1::SetSecretRequest* request,
                                      v1::SetSecretResponse* response) override {
    return server::SetSecret(door_, secrets_, context, *request, response);
  }
  grpc::ServerUnaryReactor* ListSecrets(grpc::CallbackServerContext* context, const v1::ListSecretsRequest* request,
                                        v1::ListSecretsResponse* response) override {
    return server::ListSecrets(door_, secrets_, context, *request, response);
  }
  grpc::ServerUnaryReactor* RemoveSecret(grpc::CallbackServerContext* context, const v1::RemoveSecretRequest* request,
                                         v1::RemoveSecretResponse* response) override {
    return server::RemoveSecret(door_, secrets_, context, *request, response);
  }
  grpc::ServerUnaryReactor* GetLogin(grpc::CallbackServerContext* context, const v1::GetLoginRequest* request,
                                     v1::GetLoginResponse* response) override {
    return server::GetLogin(door_, oidc_, context, *request, response);
  }
  grpc::ServerUnaryReactor* LoginOidc(grpc::CallbackServerContext* context, const v1::LoginOidcRequest* request,
                                      v1::LoginOidcResponse* response) override {
    return server::LoginOidc(door_, oidc_, context, *request, response);
  }
  grpc::ServerUnaryReactor* CreateWebCode(grpc::CallbackServerContext* context, const v1::CreateWebCodeRequest* request,
                                          v1::CreateWebCodeResponse* response) override {
    return web_codes_->Create(context, *request, response);
  }
  grpc::ServerUnaryReactor* RedeemWebCode(grpc::CallbackServerContext* context, const v1::RedeemWebCodeRequest* request,
                                          v1::RedeemWebCodeResponse* response) override {
    return web_codes_->Redeem(context, *request, response);
  }

 private:
  grpc::ServerUnaryReactor* Advise(Call* call, const google::protobuf::Message* response, std::function<Status()> work);
  // Cancel, suspend and resume: the same call but for the event.
  template <typename Request, typename Response>
  grpc::ServerUnaryReactor* PostForJob(Call* call, const Request& request, Response* response);

  SchedulerLoop* loop_;
  Door* door_;
  Adviser* adviser_;
  HistoryDesk* desk_;
  SecretAffairs* secrets_;
  OidcAffairs* oidc_;
  WebCodes* web_codes_;
  const std::string cluster_id_;
  const LogStream::Owner logs_;
  const EventStream::Owner events_;
};

}  // namespace glim::server
