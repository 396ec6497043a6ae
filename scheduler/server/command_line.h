// Flags of glim-scheduler over its configuration file.
#pragma once

#include <optional>
#include <string>

#include "scheduler/server/break_glass.h"
#include "scheduler/server/config.h"

namespace glim::server {

struct CommandLine {
  Config config;
  std::optional<BreakGlass> break_glass;  // the first word was break-glass: no scheduler is started
  bool accept_clock = false;              // the first word was accept-clock: the store goes by this host's clock
  bool settings = false;                  // the first word was settings: what counts is shown, and no more
  bool ask_store = false;                 // with it: whether the database answers
  std::string token_file;                 // with break_glass: gets the token (0600), instead of standard output
  std::optional<int> exit_code;  // --help, --version or a usage error: it has been said, the program ends with this
};

Result<CommandLine> ParseCommandLine(int argc, const char* const* argv);

}  // namespace glim::server
