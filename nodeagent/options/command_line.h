// Flags of glim-agent over its configuration file.
#pragma once

#include <optional>
#include <string>

#include "nodeagent/options/agent_config.h"
#include "nodeagent/options/agent_options.h"
#include "sdk/base/result.h"

namespace CLI {
class App;
}

namespace glim::nodeagent {

// `glim-agent enrol`: what the invitation's line says.
struct EnrolOrder {
  std::string scheduler;       // HOST:PORT of the users' port
  std::string ca_fingerprint;  // of the authority that the scheduler shows
  std::string node;
  std::string state_dir;
  std::string machine_id;  // as the agent will say it; empty: MachineIdOf the state folder
};

struct CommandLine {
  AgentOptions options;
  std::optional<EnrolOrder> enrol;  // the first word was enrol: no agent is started
  ConfigPlaces places;
  bool settings = false;         // the first word was settings: what counts is shown, no agent is started
  std::optional<int> exit_code;  // --help, --version or a usage error: it has been said, the program ends with this
};

Result<CommandLine> ParseCommandLine(int argc, const char* const* argv);

// All options there are, into `options`, which outlive `app`.
void AddOptions(CLI::App& app, AgentOptions& options);

}  // namespace glim::nodeagent
