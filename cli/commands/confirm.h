// Changes that operators make: what they say of why, whether they are asked first, and the question. Main thread only.
#pragma once

#include <string>

#include "cli/commands/command.h"

namespace glim::cli {

struct ChangeOptions {
  std::string reason;
  bool yes = false;
  bool dry_run = false;
};

// --reason TEXT (which must be given if `reason` says so), -y, --dry-run.
void AddChangeOptions(Syntax command, ChangeOptions* options, Presence reason);
// -y and --dry-run alone.
void AddAskOptions(Syntax command, ChangeOptions* options);

// Shows `what` (lines for people, on stderr) and asks, unless -y was given. Ok: it is to be done. A no, and a standard
// input that is no terminal, are refusals: nothing was changed.
Status Confirm(CommandContext& context, const ChangeOptions& options, const std::string& what,
               const std::string& question);

}  // namespace glim::cli
