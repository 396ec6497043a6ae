// Runs programs of the system.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sdk/base/result.h"

namespace glim::agent {

// Waits for its end. Without a shell, an environment (but PATH) or any descriptor but those of `fds` ({ours, theirs}; theirs from 3 up);
// input from /dev/null, output to `output`, appended. Returns the exit status, 128 + n after signal n.
Result<int> RunProgram(const std::vector<std::string>& arguments, const std::string& output,
                       const std::vector<std::pair<int, int>>& fds = {});

// The same without waiting for its end; nobody hears of how it ends.
void RunInBackground(const std::vector<std::string>& arguments);

}  // namespace glim::agent
