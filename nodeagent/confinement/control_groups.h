// A task's control groups, one in each controller's tree (version 1) or one in all (version 2).
#pragma once

#include <string>
#include <vector>

namespace glim::nodeagent {

// Removes the group `path` ("/glim/NODE/7.1.0") wherever it is, with those below it, and kills what is still in them.
// False when something has not let go yet: to be repeated. A few file operations.
bool RemoveControlGroup(const std::string& path);
// Only where nothing is in it.
void RemoveEmptyControlGroup(const std::string& path);

// The groups right below `parent`.
std::vector<std::string> ControlGroupsIn(const std::string& parent);

}  // namespace glim::nodeagent
