// Starts one rank of a task. Blocking for the few hundred microseconds that an exec takes; from one thread only.
#pragma once

#include <string>

#include "nodeagent/task/task_files.h"
#include "sdk/base/result.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {

struct RankProcess {
  std::uint32_t rank = 0;
  pid_t pid = 0;
  UniqueFd output;  // the read end of its stdout and stderr, non-blocking
};

// A pipe for a rank's output; the read end is non-blocking.
struct OutputPipe {
  UniqueFd read;
  UniqueFd write;
};
Result<OutputPipe> MakeOutputPipe();

// Runs `SHELL -c RUN` in the workdir, in a session of its own, with stdin from /dev/null, both outputs to `output`, no
// inherited descriptor, no inherited environment and every signal at its default. A failure says what is wrong for the
// job's owner. `group`: the folder of the control group that it begins in; empty: the caller's.
Result<pid_t> SpawnRank(const LaunchSpec& spec, const RankLaunch& rank, int output, const std::string& group);

// SpawnRank with a pipe of its own, in the task's group.
Result<RankProcess> StartRank(const LaunchSpec& spec, const RankLaunch& rank);

}  // namespace glim::nodeagent
