// How large the messages between agent and scheduler are at most (docs/protocols/agent-sync.md).
#pragma once

#include <cstddef>

#include "glim/v1/agent_api.pb.h"

namespace glim::nodeagent {

// What the agent takes; it says so in its Hello. A gang of 20,000 nodes that goes on from a save in parts fits.
inline constexpr std::size_t kDesiredMessageBytesMax = 32 << 20;
// What the scheduler takes. A task of 64 ranks with four saves each, of the longest paths, fits.
inline constexpr std::size_t kReportMessageBytesMax = 4 << 20;

// Shortens a report that the scheduler would refuse: of saves, which it was told of before, only each rank's newest
// stays, then none; then the words of what has ended go. What is running, and how it ended, is always told.
void FitReport(v1::NodeReport* report, std::size_t bytes_max = kReportMessageBytesMax);

}  // namespace glim::nodeagent
