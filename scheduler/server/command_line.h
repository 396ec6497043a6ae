// Flags of glim-scheduler over its configuration file.
#pragma once

#include <optional>

#include "scheduler/server/config.h"

namespace glim::server {

struct CommandLine {
  Config config;
  std::optional<int> exit_code;  // --help, --version or a usage error: it has been said, the program ends with this
};

Result<CommandLine> ParseCommandLine(int argc, const char* const* argv);

}  // namespace glim::server
