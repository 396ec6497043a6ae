// Programs of this machine that the doctor asks, with a bound on their time. Any thread.
#pragma once

#include <string>
#include <vector>

#include "sdk/base/time.h"

namespace glim::cli::doctor {

// What a program printed, both ways, and how it ended.
struct ProgramEnd {
  bool started = false;
  bool in_time = false;
  int code = -1;  // 128 + n after signal n
  std::string out, err;
};
// Ends it with SIGKILL when `within` is over; at most 64 KiB of each. `words[0]` is a path.
ProgramEnd RunProgram(const std::vector<std::string>& words, Duration within);

}  // namespace glim::cli::doctor
