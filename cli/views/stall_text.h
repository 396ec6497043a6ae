// What is known of an attempt that stands still, for `glim status` and `glim why`.
#pragma once

#include <string>

#include "glim/v1/job.pb.h"
#include "sdk/base/time.h"

namespace glim::cli {

struct StallShown {
  int indent = 0;       // blanks before each line
  bool stacks = false;  // with what the processes' stacks were, and not only a line for each process
};

// Since when, and what its processes were doing. Empty: it does not stand still, and has not ended because it did.
std::string StallText(const glim::v1::Attempt& attempt, TimePoint now, const StallShown& shown);

}  // namespace glim::cli
