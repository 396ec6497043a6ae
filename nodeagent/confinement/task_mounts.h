// What a job names of its node, mounted for its container by descriptor: the path is walked once, and what that walk
// came to is checked and mounted. Users may exchange parts of the path for others meanwhile; a runtime that was given
// the path would walk it again, as root.
//
// The agent writes the order into the bundle. The shim starts the runtime through RunWithMounts, in a process that may
// hang with its storage, and that can be killed as far as the kernel lets it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nodeagent/confinement/container_root.h"
#include "nodeagent/task/user_paths.h"
#include "sdk/base/result.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {

// Where a container's own file system of huge pages is mounted; its runtime shows it as /dev/hugepages, too. The
// runtime cannot make one itself: in a user namespace the kernel gives none.
inline constexpr const char* kHugePagesTarget = "/run/glim/hugepages";

struct TaskMount {
  std::string field;   // of the job's spec; empty: the job names it not
  std::string named;   // what the job wrote there
  std::string real;    // where that was found to lead: absolute, without links
  std::string target;  // absolute, as the container is to see it
  bool read_only = false;
  bool by_agent = false;  // PathWish's
  bool own = false;       // the agent's or the operator's: users cannot exchange what it is
};

struct MountOrder {
  MakeRules rules;                // what of the node may be mounted, and whose rights count
  std::vector<TaskMount> mounts;  // in this order: a folder before what lies in it
  uid_t root_owner = 0;           // of the container's root folder
  // Empty: of an agent of before, whose shim is this one already. Each `target` is a place in the task's bundle then,
  // from where the runtime takes it.
  std::string root = kContainerRoot;
  std::string image = {};           // a squashfs file below all mounts; empty: none
  std::uint64_t huge_page_kib = 0;  // a file system of such pages, the task's user's, at kHugePagesTarget; 0: none
};

std::string ToJson(const MountOrder& order);
Result<MountOrder> ParseMountOrder(const std::string& text);

// Below a task's bundle: the order, and why it could not be carried out.
inline std::string MountOrderFile(const std::string& bundle) { return bundle + "/mounts.json"; }
inline std::string MountFaultFile(const std::string& bundle) { return bundle + "/mounts.fault"; }

// Gives the calling process mounts of its own, and puts the container's root together there. It blocks for as long as
// the storage does. Errors name the field: INVALID_ARGUMENT where the path has become another one or leads out of what
// the rules allow, or where its place cannot be made; PATH_MISSING (task/start_fault.h) where it is no more.
Status MountAll(const MountOrder& order);

// What the job's path leads to, as its user and no further than the rules allow. Errors as MountAll's. The calling
// process has mounts of its own, if it is to be mounted.
Result<UniqueFd> OpenNamed(const TaskMount& mount, const MakeRules& rules);

// MountAll of the bundle's order, then becomes `program` (the first is its path) in the same environment. Comes back
// only if that failed; why is in the fault file then.
int RunWithMounts(const std::string& bundle, const std::vector<std::string>& program);
// What RunWithMounts left there; OK if nothing.
Status ReadMountFault(const std::string& bundle);

}  // namespace glim::nodeagent
