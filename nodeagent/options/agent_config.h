// The agent's configuration file, usually /etc/glim/agent.yaml: a key for each option of the command line, '_' for '-'.
//
// What is not in the table, or of another type, is refused with line, column and key. What only the whole can tell
// (CompleteOptions) is refused with the option's name; ConfigPlaces says where in the file that option stood.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "nodeagent/options/agent_options.h"
#include "sdk/base/status.h"

namespace glim::nodeagent {

class ConfigPlaces {
 public:
  void Note(const std::string& option, const std::string& place) { places_[option] = place; }
  // It is said on the command line.
  void Forget(const std::string& option) { places_.erase(option); }
  bool Has(const std::string& option) const { return places_.contains(option); }
  // The refusal, with the place in front if its field is an option that the file says.
  Status Placed(const Status& refusal) const;

 private:
  std::map<std::string, std::string> places_;  // "--zone" -> "/etc/glim/agent.yaml:3:7: "
};

Status ReadAgentConfig(const std::string& path, AgentOptions* options, ConfigPlaces* places);
// The same from text; `source` is for messages.
Status ReadAgentConfigText(const std::string& text, const std::string& source, AgentOptions* options,
                           ConfigPlaces* places);

std::vector<std::string> AgentConfigKeys();

}  // namespace glim::nodeagent
