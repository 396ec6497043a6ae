// What the node checks look at: readers below a machine's root, and the looks of the whole role.
//
// Sources: node_looks.cc, node_readers.cc
#pragma once

#include <string>
#include <vector>

#include "cli/doctor/look.h"
#include "cli/doctor/machine.h"
#include "cli/doctor/node_checks.h"

namespace glim::cli::doctor {

// The agent's settings, by its own program. `config`: empty is what /etc/glim/agent.env says, or agent.yaml beside it.
// Bounded in time.
SettingsFacts AskAgentSettings(const Machine& machine, const std::string& config);
// The words of GLIM_AGENT_OPTIONS in a text like agent.env.
std::vector<std::string> AgentWords(const std::string& environment);

NodeWishes WishesOf(const ProgramSettings& settings);
CgroupFacts ReadCgroups(const Machine& machine, const std::string& parent);
NetworkFacts ReadNetwork(const Machine& machine);
EnrolmentFacts ReadEnrolment(const Machine& machine, const ProgramSettings& settings);
ProgramsFacts ReadPrograms(const Machine& machine, const std::string& agent, const std::string& shim);
// `root`: empty is to be found, by its marker, in these folders or right below.
SharedRootFacts ReadSharedRoot(const Machine& machine, const std::vector<std::string>& folders, std::string root);

std::vector<Look> NodeLooks(const SettingsFacts& facts, const std::string& checkpoint_root);

}  // namespace glim::cli::doctor
