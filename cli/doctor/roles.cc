#include "cli/doctor/roles.h"

#include <sys/stat.h>

#include <string>

namespace glim::cli::doctor {
namespace {

// The link itself: what it leads to need not be there.
bool IsEnabled(const Machine& machine, const std::string& unit) {
  struct stat info {};
  return ::lstat(machine.Path("/etc/systemd/system/multi-user.target.wants/" + unit).c_str(), &info) == 0;
}

}  // namespace

std::vector<Role> FindRoles(const Machine& machine) {
  std::vector<Role> roles;
  if (IsEnabled(machine, "glim-agent.service")) roles.push_back(Role::kNode);
  if (IsEnabled(machine, "glim-scheduler.service")) roles.push_back(Role::kServer);
  if (roles.empty()) {
    if (machine.Look("/etc/glim/agent.yaml").there) roles.push_back(Role::kNode);
    if (machine.Look("/etc/glim/scheduler.yaml").there) roles.push_back(Role::kServer);
  }
  if (roles.empty()) roles.push_back(Role::kClient);
  return roles;
}

}  // namespace glim::cli::doctor
