#include "scheduler/server/agents/agent_service.h"

#include <memory>
#include <utility>

#include "scheduler/server/agents/agent_stream.h"
#include "scheduler/server/convert/rpc_status.h"

namespace glim::server {

AgentService::AgentService(AgentHub* hub, LogBroker* broker, CallerLimits* limits, HeldSaves* held,
                           Enrolment* enrolment, LoginAffairs* logins)
    : hub_(hub),
      limits_(limits),
      enrolment_(enrolment),
      logins_(logins),
      logs_{&hub->strand(), broker, &hub->loop(), hub->cluster_id(), limits, &hub->gate()},
      saves_(&hub->loop(), hub->cluster_id(), limits, &hub->gate(), held) {}

AgentService::~AgentService() = default;

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* AgentService::Sync(grpc::CallbackServerContext* context) {
  return AgentStream::Open(hub_, limits_, context);
}

grpc::ServerBidiReactor<v1::LogChunk, v1::LogRequest>* AgentService::ServeLogs(grpc::CallbackServerContext* context) {
  return AgentLogStream::Open(&logs_, context);
}

grpc::ServerUnaryReactor* AgentService::ReviewSaves(grpc::CallbackServerContext* context, const v1::SavesHeld* request,
                                                    v1::SavesVerdict* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const AgentPeer agent = hub_->gate().PeerOf(*context);
  reactor->Finish(ToGrpc(saves_.Answer(agent, PeerHost(context->peer()), *request, response)));
  return reactor;
}

// A call of an agent's that is answered later; until then it counts against its peer's bound.
template <typename Answer, typename Order>
grpc::ServerUnaryReactor* AgentService::Ask(grpc::CallbackServerContext* context, Answer* response, bool identity,
                                            const Order& order) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const std::string peer = PeerHost(context->peer());
  auto admitted = limits_->Admit({"", peer}, {{Bound::kCalls, 1}});
  Status refusal = admitted.status();
  if (refusal.ok() && !identity) {
    refusal = Status(StatusCode::kFailedPrecondition,
                     "the scheduler runs without identity: it gives no certificates "
                     "and no tokens")
                  .WithReason("NO_IDENTITY")
                  .WithFix("start the scheduler without insecure_without_identity");
  }
  if (!refusal.ok()) {
    reactor->Finish(ToGrpc(refusal));
    return reactor;
  }
  const auto admission = std::make_shared<Admission>(std::move(admitted).value());
  order(peer, [reactor, response, admission](const Result<Answer>& answer) {
    if (answer.ok()) *response = *answer;
    admission->Release();
    reactor->Finish(ToGrpc(answer.status()));
  });
  return reactor;
}

grpc::ServerUnaryReactor* AgentService::RenewCertificate(grpc::CallbackServerContext* context,
                                                         const v1::RenewCertificateRequest* request,
                                                         v1::RenewCertificateResponse* response) {
  return Ask(context, response, enrolment_ != nullptr, [&](const std::string& peer, auto done) {
    enrolment_->Renew(hub_->gate().PeerOf(*context), *request, peer, std::move(done));
  });
}

grpc::ServerUnaryReactor* AgentService::LoginUser(grpc::CallbackServerContext* context,
                                                  const v1::LoginUserRequest* request,
                                                  v1::LoginUserResponse* response) {
  return Ask(context, response, logins_ != nullptr, [&](const std::string& peer, auto done) {
    logins_->LoginUser(hub_->gate().PeerOf(*context), *request, peer, std::move(done));
  });
}

}  // namespace glim::server
