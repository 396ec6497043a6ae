// A desired set that its agent would not take: a message beyond gRPC's limit ends the stream, and so would every
// message after it. The launches that are too large are taken out, and fail their jobs instead.
#pragma once

#include <cstddef>
#include <vector>

#include "glim/v1/agent_api.pb.h"
#include "scheduler/core/model/event.h"

namespace glim::server {

// gRPC's own limit, of agents that tell none.
inline constexpr std::size_t kAgentTakesBytes = 4 << 20;
// However little, or much, an agent says that it takes.
inline constexpr std::size_t kDesiredBytesLeast = 64 << 10;
inline constexpr std::size_t kDesiredBytesMax = 64 << 20;

// What an agent that says `told` in its Hello takes; 0: it says nothing.
std::size_t DesiredBytesMax(std::uint32_t told);

// Takes the largest launches out of the set, one by one, until it fits. Each is returned as its agent would report it:
// a start that failed, by the job's fault.
std::vector<core::ObservedTask> FitDesired(std::size_t bytes_max, v1::DesiredState* set);

}  // namespace glim::server
