// What the kernel thinks of when memory is gone: whom to kill (proc(5), oom_score_adj: -1000 never, 1000 first).
#pragma once

#include <sys/types.h>

#include <string>

#include "sdk/base/result.h"

namespace glim::nodeagent {

// The agent may be protected (systemd: OOMScoreAdjust=-900); what it starts inherits that, and a task must not have it.
// Sets this process, and with it all that it starts later, back to 0. A score of 0 or more stays: whoever set it wants
// the process to go first. `file` is another one only in tests.
Status GiveUpOomProtection(const std::string& file = "/proc/self/oom_score_adj");

// A task goes before whatever its node runs beside it, also before a replica service that holds half of the memory; and
// of a task its ranks go before the program that tells how they ended.
inline constexpr int kTaskOomScore = 500;
inline constexpr int kRankOomScore = 900;

// This process's; 0 if nobody can say.
int OwnOomScore();
// Of another one: up, never down. Nothing if it is gone.
void RaiseOomScore(pid_t pid, int score);

}  // namespace glim::nodeagent
