// What is known of a save that an attempt could not make, for `glim status` and `glim why`.
#pragma once

#include <string>

#include "glim/v1/job.pb.h"

namespace glim::cli {

// Which step, how often since which good save, and why, in a line after `indent` blanks. Empty: its newest save was
// made, or it has tried none.
std::string SaveFailureText(const glim::v1::Attempt& attempt, int indent);

}  // namespace glim::cli
