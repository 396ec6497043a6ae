// Jobs of the caller's own that are named by a part of their names, for commands that change several at once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands/confirm.h"

namespace glim::cli {

struct OwnJobs {
  std::string name{};  // what their names have in them
  bool held = false;   // those that are suspended; else those that are not, or, with `any`, both
  bool any = false;
  std::string verb = "cancel";  // of the question
};

// They are shown, and asked about unless -y was given. None with --dry-run. NO_SUCH_JOB: the caller has none.
Result<std::vector<std::uint64_t>> FindOwnJobs(CommandContext& context, const OwnJobs& which,
                                               const ChangeOptions& options);

}  // namespace glim::cli
