// Runs programs of the system.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sdk/base/result.h"

namespace glim::nodeagent {

// In a session of its own, with no signal blocked or ignored, exactly `environment` ("NAME=VALUE"), and no descriptor
// but those of `fds` ({ours, theirs}; theirs from 3 up); input from /dev/null, output to `output`, appended. The caller
// reaps it. FAILED_PRECONDITION: it cannot be started.
// `group`: the folder of the control group that it begins in (spawn_process.h); empty: the caller's.
Result<pid_t> StartProgram(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                           const std::string& output, const std::vector<std::pair<int, int>>& fds = {},
                           const std::string& group = "");
// The same. `note` is called with its pid before it begins, and it never begins if this process ends meanwhile.
Result<pid_t> StartNotedProgram(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                                const std::string& output, std::function<void(pid_t)> note);

// The same with PATH alone in its environment, and waits for its end. Returns the exit status, 128 + n after signal n.
Result<int> RunProgram(const std::vector<std::string>& arguments, const std::string& output,
                       const std::vector<std::pair<int, int>>& fds = {}, const std::string& group = "");

// The same, but no longer than `limit`: what runs then is killed with its session's processes. DEADLINE_EXCEEDED.
Result<int> RunProgramFor(std::chrono::milliseconds limit, const std::vector<std::string>& arguments,
                          const std::string& output);

// The same without waiting for its end; nobody hears of how it ends.
void RunInBackground(const std::vector<std::string>& arguments);

}  // namespace glim::nodeagent
