// What a call came to, from gRPC's status to ours. Pure.
#pragma once

#include <grpcpp/support/status.h>

#include "sdk/base/status.h"

namespace glim::cli {

// A refused call with its glim.v1.ErrorDetail, if it carries one.
Status FromGrpc(const grpc::Status& status);

}  // namespace glim::cli
