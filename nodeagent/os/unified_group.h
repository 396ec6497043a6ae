// A task's group in the unified hierarchy (control groups, version 2): who belongs to the task, as the kernel knows it.
//
// A process begins in its parent's group, whatever it does to its session, its environment and its parent, and only
// who may write in the hierarchy (root) moves it. Membership needs no controller. Stateless functions of a few file
// operations each; a group is named by its folder.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "sdk/base/result.h"

namespace glim::nodeagent {

enum class GroupState {
  kNone,   // there is no such group: nothing is in it
  kEmpty,  // no process is in it or below it; zombies do not count
  kPopulated,
};

// The folder of the group `parent` ("/glim/NODE"), made where it is missing. The hierarchy is where it is mounted;
// where it is mounted nowhere, root mounts it at kOwnHierarchy, and there it stays. Not OK: groups cannot be had here,
// and the message says why.
Result<std::string> OpenGroupParent(const std::string& parent);
inline constexpr const char* kOwnHierarchy = "/run/glim/cgroup2";

Status MakeGroup(const std::string& folder);
GroupState LookAtGroup(const std::string& folder);
// Of the group and those below it, at most `max`.
std::vector<pid_t> GroupMembers(const std::string& folder, std::size_t max);
// SIGKILL to all of it in one step of the kernel's, whoever forks meanwhile (cgroup.kill, Linux 5.14); to one after
// another where there is no such thing. Then look whether it is empty.
void KillGroup(const std::string& folder);
void SignalGroup(const std::string& folder, int signal);
// With the groups below it. False: something is in it.
bool RemoveGroup(const std::string& folder);

}  // namespace glim::nodeagent
