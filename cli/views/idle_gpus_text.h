// What is known of an attempt whose GPUs nobody uses, for `glim status` and `glim why`.
#pragma once

#include <string>

#include "glim/v1/job.pb.h"
#include "sdk/base/time.h"

namespace glim::cli {

// For how long, and what its user does about it, in a line after `indent` blanks. Empty: they are used, or nobody is
// there any more.
std::string IdleGpusText(const glim::v1::Attempt& attempt, TimePoint now, int indent);

}  // namespace glim::cli
