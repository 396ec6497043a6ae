#include "scheduler/server/clients/node_calls.h"

#include "scheduler/server/door/call.h"

namespace glim::server {
namespace {

// The answer, whenever it comes, into the call's own response.
template <typename Response>
Answered<Response> Into(Call* call, Response* response) {
  return [call, response](const Result<Response>& answer) {
    if (answer.ok()) *response = *answer;
    call->Answer(answer.status(), response);
  };
}

}  // namespace

grpc::ServerUnaryReactor* InviteNode(Door* door, NodeAffairs* nodes, grpc::CallbackServerContext* context,
                                     const v1::InviteNodeRequest& request, v1::InviteNodeResponse* response) {
  Call* const call = Call::Open(door, context, "AdminApi/InviteNode", request);
  if (call->admitted()) nodes->Invite(request, call->Note(""), Into(call, response));
  return call;
}

grpc::ServerUnaryReactor* RevokeNode(Door* door, NodeAffairs* nodes, grpc::CallbackServerContext* context,
                                     const v1::RevokeNodeRequest& request, v1::RevokeNodeResponse* response) {
  Call* const call = Call::Open(door, context, "AdminApi/RevokeNode", request);
  if (call->admitted()) nodes->Revoke(request, call->Note(""), Into(call, response));
  return call;
}

grpc::ServerUnaryReactor* LabelNode(Door* door, NodeAffairs* nodes, grpc::CallbackServerContext* context,
                                    const v1::LabelNodeRequest& request, v1::LabelNodeResponse* response) {
  Call* const call = Call::Open(door, context, "AdminApi/LabelNode", request);
  if (call->admitted()) nodes->Label(request, call->Note(""), Into(call, response));
  return call;
}

grpc::ServerUnaryReactor* RotateCa(Door* door, CaRotation* rotation, grpc::CallbackServerContext* context,
                                   const v1::RotateCaRequest& request, v1::RotateCaResponse* response) {
  Call* const call = Call::Open(door, context, "AdminApi/RotateCa", request);
  if (call->admitted()) rotation->Rotate(request, call->Note(""), Into(call, response));
  return call;
}

}  // namespace glim::server
