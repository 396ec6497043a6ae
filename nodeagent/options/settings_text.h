// What `glim-agent settings` prints: the options that `glim doctor` asks for, one "key: value" a line, as they come out
// of the configuration file and the command line, before anything on the machine is looked at. Pure.
#pragma once

#include <string>

#include "nodeagent/options/agent_options.h"

namespace glim::nodeagent {

std::string SettingsText(const AgentOptions& options);

}  // namespace glim::nodeagent
