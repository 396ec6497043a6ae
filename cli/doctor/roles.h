// Which parts of Glim a machine has.
#pragma once

#include <vector>

#include "cli/doctor/finding.h"
#include "cli/doctor/machine.h"

namespace glim::cli::doctor {

// By the units that systemd starts there (glim-agent, glim-scheduler); where none is enabled, by the configuration in
// /etc/glim; a machine that has neither is a client's.
std::vector<Role> FindRoles(const Machine& machine);

}  // namespace glim::cli::doctor
