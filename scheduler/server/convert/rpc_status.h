// From Status to what a gRPC call ends with, and who calls.
#pragma once

#include <grpcpp/grpcpp.h>

#include <string>

#include "sdk/base/result.h"

namespace glim::server {

// Reason, field and fix ride as a serialised glim.v1.ErrorDetail in error_details.
grpc::Status ToGrpc(const Status& status);

// The user named in the metadata `glim-user`: 1 to 64 characters of [A-Za-z0-9._-], given once; else UNAUTHENTICATED.
Result<std::string> CallerOf(const grpc::CallbackServerContext& context);

}  // namespace glim::server
