// The stub to the scheduler that counts now: with new credentials there is another one. On the agent's loop.
#pragma once

#include <functional>

#include "glim/v1/agent_api.grpc.pb.h"

namespace glim::nodeagent {

// Asked anew for each call; what it gave is good for beginning one. A call that was begun needs it no more.
using StubSource = std::function<v1::AgentApi::StubInterface*()>;

}  // namespace glim::nodeagent
