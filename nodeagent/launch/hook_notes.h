// What an agent notes of the operator's programs around tasks (site_hooks.h) while they run, for the agent after it:
// STATE_DIR/hooks/7.1.0.prolog and 7.1.0.epilog. They lie outside of the tasks' folders: an epilog outlives its task's.
//
// Stateless functions of a few file operations each.
#pragma once

#include <string>
#include <vector>

#include "nodeagent/core/reconcile.h"
#include "nodeagent/os/processes.h"
#include "sdk/base/status.h"

namespace glim::nodeagent {

struct HookNote {
  TaskKey key;
  bool prolog = false;      // else it is the epilog
  std::string environment;  // what it is told: a variable a line
  ProcessIdentity process;  // pid 0: it was about to be started
};

// Replaces the one of the same task and kind.
Status WriteHookNote(const std::string& state_dir, const HookNote& note);
void RemoveHookNote(const std::string& state_dir, const TaskKey& key, bool prolog);
// In the order of their names. One that cannot be used is set aside (sealed_file.h) and logged.
std::vector<HookNote> ReadHookNotes(const std::string& state_dir);

}  // namespace glim::nodeagent
