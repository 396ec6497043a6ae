// The calls of ClientApi about a user's own secrets, and about signing in: from the door to the rooms secrets and
// login, and back. Any thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include "glim/v1/client_api.pb.h"
#include "scheduler/server/door/door.h"
#include "scheduler/server/login/oidc_affairs.h"
#include "scheduler/server/secrets/secret_affairs.h"

namespace glim::server {

grpc::ServerUnaryReactor* SetSecret(Door* door, SecretAffairs* secrets, grpc::CallbackServerContext* context,
                                    const v1::SetSecretRequest& request, v1::SetSecretResponse* response);
grpc::ServerUnaryReactor* ListSecrets(Door* door, SecretAffairs* secrets, grpc::CallbackServerContext* context,
                                      const v1::ListSecretsRequest& request, v1::ListSecretsResponse* response);
grpc::ServerUnaryReactor* RemoveSecret(Door* door, SecretAffairs* secrets, grpc::CallbackServerContext* context,
                                       const v1::RemoveSecretRequest& request, v1::RemoveSecretResponse* response);
grpc::ServerUnaryReactor* GetLogin(Door* door, OidcAffairs* oidc, grpc::CallbackServerContext* context,
                                   const v1::GetLoginRequest& request, v1::GetLoginResponse* response);
grpc::ServerUnaryReactor* LoginOidc(Door* door, OidcAffairs* oidc, grpc::CallbackServerContext* context,
                                    const v1::LoginOidcRequest& request, v1::LoginOidcResponse* response);

}  // namespace glim::server
