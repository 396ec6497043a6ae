// What both streams of an agent begin and end with: one more of its peer's, on which nobody has said hello yet.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>

#include "scheduler/server/limits/caller_limits.h"

namespace glim::server {

// How long a write in flight may take once a stream has ended: so that the peer learns why. One that no longer reads
// would take for ever.
inline constexpr auto kLastWriteMax = std::chrono::seconds(1);

// Bound::kAgentHellos is to be released at the hello, the rest at the stream's end.
inline Result<Admission> AdmitAgent(CallerLimits* limits, const grpc::CallbackServerContext& context) {
  return limits->Admit({"", PeerHost(context.peer())}, {{Bound::kAgentStreams, 1}, {Bound::kAgentHellos, 1}});
}

}  // namespace glim::server
