// What a job's spec may say.
#pragma once

#include "scheduler/core/model/spec.h"
#include "sdk/base/status.h"

namespace glim::core {

// Refuses what no cluster could run or show: bad names, control characters, negative or absurd amounts. Whether this
// cluster can run it is CheckFeasible's question (feasibility.h).
Status ValidateSpec(const JobSpec& spec);

}  // namespace glim::core
