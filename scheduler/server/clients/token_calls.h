// AdminApi's calls about tokens. Each opens its call at the door and answers it; the rules are token_rules.h's.
#pragma once

#include "glim/v1/admin_api.pb.h"
#include "scheduler/server/door/call.h"

namespace glim::server {

// RESOURCE_EXHAUSTED (TOO_MANY_TOKENS): the user has as many as may be. Jobs' own tokens do not count.
Status CheckRoomForToken(const core::Identity& identity, const std::string& user);

// The token is in this one answer and nowhere else: its row has the hash.
grpc::ServerUnaryReactor* CreateToken(Door* door, grpc::CallbackServerContext* context,
                                      const v1::CreateTokenRequest& request, v1::CreateTokenResponse* response);
grpc::ServerUnaryReactor* ListTokens(Door* door, grpc::CallbackServerContext* context,
                                     const v1::ListTokensRequest& request, v1::ListTokensResponse* response);
// Any scope may revoke the very token of the call: that is how one logs out.
grpc::ServerUnaryReactor* RevokeToken(Door* door, grpc::CallbackServerContext* context,
                                      const v1::RevokeTokenRequest& request, v1::RevokeTokenResponse* response);

}  // namespace glim::server
