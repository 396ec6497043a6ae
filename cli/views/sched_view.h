// How the scheduler decides, for people. Pure.
#pragma once

#include <string>

#include "glim/v1/sched_api.pb.h"

namespace glim::cli {

std::string SchedStatusLines(const glim::v1::GetSchedStatusResponse& status);
// The steps, in the order in which they were tried.
std::string TraceText(const glim::v1::TraceJobResponse& trace, bool colour);

}  // namespace glim::cli
