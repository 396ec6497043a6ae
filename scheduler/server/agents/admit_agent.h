// An agent's stream: one more of its peer's, on which nobody has said hello yet.
#pragma once

#include <grpcpp/grpcpp.h>

#include "scheduler/server/limits/caller_limits.h"

namespace glim::server {

// Bound::kAgentHellos is to be released at the hello, the rest at the stream's end.
inline Result<Admission> AdmitAgent(CallerLimits* limits, const grpc::CallbackServerContext& context) {
  return limits->Admit({"", PeerHost(context.peer())}, {{Bound::kAgentStreams, 1}, {Bound::kAgentHellos, 1}});
}

}  // namespace glim::server
