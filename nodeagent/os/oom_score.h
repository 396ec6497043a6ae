// What the kernel thinks of when memory is gone: whom to kill (proc(5), oom_score_adj: -1000 never, 1000 first).
#pragma once

#include <string>

#include "sdk/base/result.h"

namespace glim::nodeagent {

// The agent may be protected (systemd: OOMScoreAdjust=-900); what it starts inherits that, and a task must not have it.
// Sets this process, and with it all that it starts later, back to 0. A score of 0 or more stays: whoever set it wants
// the process to go first. `file` is another one only in tests.
Status GiveUpOomProtection(const std::string& file = "/proc/self/oom_score_adj");

}  // namespace glim::nodeagent
