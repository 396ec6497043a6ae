// AgentApi: opens a reactor a stream; the streams do the rest (agent_stream.h, agent_log_stream.h). What may go of
// jobs' saves is answered at once (saves_review.h). Certificates and logins are the room nodes' affair.
#pragma once

#include <string>

#include "glim/v1/agent_api.grpc.pb.h"
#include "scheduler/server/agents/agent_hub.h"
#include "scheduler/server/agents/agent_log_stream.h"
#include "scheduler/server/agents/saves_review.h"
#include "scheduler/server/nodes/enrolment.h"
#include "scheduler/server/nodes/login_affairs.h"

namespace glim::server {

// Sync is raw so that a torn message can be told from the end of the stream.
class AgentService final
    : public v1::AgentApi::WithRawCallbackMethod_Sync<v1::AgentApi::WithCallbackMethod_ServeLogs<
          v1::AgentApi::WithCallbackMethod_ReviewSaves<v1::AgentApi::WithCallbackMethod_RenewCertificate<
              v1::AgentApi::WithCallbackMethod_LoginUser<v1::AgentApi::Service>>>>> {
 public:
  // All outlive the service. Without identity `enrolment` and `logins` are null.
  AgentService(AgentHub* hub, LogBroker* broker, CallerLimits* limits, HeldSaves* held, Enrolment* enrolment,
               LoginAffairs* logins);
  ~AgentService() override;

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Sync(grpc::CallbackServerContext* context) override;
  grpc::ServerBidiReactor<v1::LogChunk, v1::LogRequest>* ServeLogs(grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* ReviewSaves(grpc::CallbackServerContext* context, const v1::SavesHeld* request,
                                        v1::SavesVerdict* response) override;
  grpc::ServerUnaryReactor* RenewCertificate(grpc::CallbackServerContext* context,
                                             const v1::RenewCertificateRequest* request,
                                             v1::RenewCertificateResponse* response) override;
  grpc::ServerUnaryReactor* LoginUser(grpc::CallbackServerContext* context, const v1::LoginUserRequest* request,
                                      v1::LoginUserResponse* response) override;

 private:
  template <typename Answer, typename Order>
  grpc::ServerUnaryReactor* Ask(grpc::CallbackServerContext* context, Answer* response, bool identity,
                                const Order& order);

  AgentHub* hub_;
  CallerLimits* limits_;
  Enrolment* enrolment_;
  LoginAffairs* logins_;
  const AgentLogStream::Owner logs_;
  const SavesReview saves_;
};

}  // namespace glim::server
