#include "nodeagent/control/left_behind.h"

#include <set>

#include "nodeagent/os/processes.h"
#include "sdk/base/printable.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kLeftNamesMax = 4;

}  // namespace

// What Glim itself has in a container is nobody's.
LeftBehind NameProcesses(const std::vector<pid_t>& pids) {
  LeftBehind left;
  std::set<std::string> names;
  for (const pid_t pid : pids) {
    const std::string name = ProgramNameOf(pid);
    if (name.empty() || name == "glim-init") continue;
    ++left.count;
    if (names.size() < kLeftNamesMax) names.insert(EscapedStart(name, kProgramNameMax));
  }
  for (const std::string& name : names) left.names += (left.names.empty() ? "" : ", ") + name;
  return left;
}

}  // namespace glim::nodeagent
