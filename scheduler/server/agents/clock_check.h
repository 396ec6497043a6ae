// Whether an agent will believe this scheduler, by what it says of its node's clock. Pure.
#pragma once

#include <cstdint>

#include "glim/v1/agent_api.pb.h"
#include "sdk/base/status.h"
#include "sdk/base/time.h"

namespace glim::server {

// An agent leaves a scheduler whose epoch is far ahead of the node's clock (nodeagent/sync/epoch_bound.h). Told so at
// once, it says what is wrong, and so does the node. FAILED_PRECONDITION (EPOCH_AHEAD) for a clock that is more than a
// day behind, where the agent would leave; `now` since 1970 by the scheduler's clock. An agent that does not tell its
// clock is let in.
Status CheckClock(const v1::Hello& hello, std::uint64_t epoch, TimePoint now);

}  // namespace glim::server
