// What a job's spec may say: the one validator. The server refuses a submission by it, and `glim submit` refuses a file
// by it before anything crosses the network, with the same words. The bounds are spec_limits.h's. Pure.
#pragma once

#include <string>

#include "scheduler/core/model/spec.h"
#include "sdk/base/status.h"

namespace glim::core {

// Refuses what no cluster could run or show: bad names, control characters, negative or absurd amounts. Whether this
// cluster can run it is CheckFeasible's question (feasibility.h).
Status ValidateSpec(const JobSpec& spec);

// 1 to 64 letters, digits, '.', '_' or '-', beginning with a letter, a digit or '_': a secret's name is a file's.
Status CheckSecretName(const std::string& field, const std::string& name);

}  // namespace glim::core
