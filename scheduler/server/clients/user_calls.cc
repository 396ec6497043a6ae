#include "scheduler/server/clients/user_calls.h"

#include "scheduler/server/door/call.h"

namespace glim::server {
namespace {

// The answer, whenever it comes, into the call's own response.
template <typename Response>
auto IntoCall(Call* call, Response* response) {
  return [call, response](const Result<Response>& answer) {
    if (answer.ok()) *response = *answer;
    call->Answer(answer.status(), response);
  };
}

}  // namespace

grpc::ServerUnaryReactor* SetSecret(Door* door, SecretAffairs* secrets, grpc::CallbackServerContext* context,
                                    const v1::SetSecretRequest& request, v1::SetSecretResponse* response) {
  Call* const call = Call::Open(door, context, "ClientApi/SetSecret", request);
  if (call->admitted()) secrets->Set(call->user(), request, call->Note(""), IntoCall(call, response));
  return call;
}

grpc::ServerUnaryReactor* ListSecrets(Door* door, SecretAffairs* secrets, grpc::CallbackServerContext* context,
                                      const v1::ListSecretsRequest& request, v1::ListSecretsResponse* response) {
  Call* const call = Call::Open(door, context, "ClientApi/ListSecrets", request);
  if (!call->admitted()) return call;
  *response = secrets->List(call->user());
  call->Answer(Status::Ok(), response);
  return call;
}

grpc::ServerUnaryReactor* RemoveSecret(Door* door, SecretAffairs* secrets, grpc::CallbackServerContext* context,
                                       const v1::RemoveSecretRequest& request, v1::RemoveSecretResponse* response) {
  Call* const call = Call::Open(door, context, "ClientApi/RemoveSecret", request);
  if (call->admitted()) secrets->Remove(call->user(), request, call->Note(""), IntoCall(call, response));
  return call;
}

grpc::ServerUnaryReactor* GetLogin(Door* door, OidcAffairs* oidc, grpc::CallbackServerContext* context,
                                   const v1::GetLoginRequest& request, v1::GetLoginResponse* response) {
  Call* const call = Call::Open(door, context, "ClientApi/GetLogin", request);
  if (!call->admitted()) return call;
  *response = oidc->Where();
  call->Answer(Status::Ok(), response);
  return call;
}

grpc::ServerUnaryReactor* LoginOidc(Door* door, OidcAffairs* oidc, grpc::CallbackServerContext* context,
                                    const v1::LoginOidcRequest& request, v1::LoginOidcResponse* response) {
  Call* const call = Call::Open(door, context, "ClientApi/LoginOidc", request);
  if (call->admitted()) oidc->Login(request, call->Note(""), IntoCall(call, response));
  return call;
}

}  // namespace glim::server
