// How a task's processes are kept apart from their node: not at all, or in a container.
//
// Called on the agent's loop; each call takes a few file operations, Sweep of a container also a run of runc. Errors
// are about the task ("mounts[0].source ...") or about the node ("cannot create a folder").
#pragma once

#include <sys/types.h>

#include <memory>
#include <set>
#include <string>

#include "nodeagent/task/task_files.h"
#include "sdk/base/result.h"

namespace glim::nodeagent {

class Confinement {
 public:
  virtual ~Confinement() = default;
  virtual std::string name() const = 0;
  // The task's folder is there. Makes the checkpoint folder, and adds to the task's, and to the spec, what the shim
  // needs.
  virtual Status Prepare(const TaskPaths& paths, LaunchSpec* spec) const = 0;
  // Removes what a task leaves outside its folder when its shim was killed; its processes are gone.
  virtual void Sweep(const LaunchSpec& spec) const = 0;
  // When the agent starts: removes what is left of tasks that are none of `tasks`, and kills nothing.
  virtual void SweepOthers(const std::set<std::string>& tasks) const = 0;
};

// Plain processes of the agent's own user. Refuses mounts that are not where they already are, and limits: it could
// not keep them.
std::unique_ptr<Confinement> MakeProcessConfinement();

// Who a container's processes are.
struct TaskUser {
  uid_t uid = 0;
  gid_t gid = 0;
};

// Where a container sees its node's SDK.
inline constexpr const char* kSdkTarget = "/run/glim/sdk";

struct RuncOptions {
  std::string runc;           // the program
  std::string init;           // the program glim-init
  std::string task_program;   // glim-task, shown at its own path to tasks without an SDK
  std::string state_dir;      // runc's own state lies in it
  std::string cgroup_parent;  // absolute, below each controller's root
  std::string hostname;
  std::vector<std::string> mount_allow;  // what of the node jobs may name: these folders and all below
  TaskUser user;
  std::string sdk;  // shown to the task, with its glim-task, at kSdkTarget; empty: none
};

// A container for each task, under runc, with the node's own /usr, /etc and /opt, read-only, as its system ("image:
// host"). It sees its workdir, its checkpoint folder and its mounts, which must lie in `mount_allow`, a /tmp of its
// own, and nothing else of the node.
std::unique_ptr<Confinement> MakeRuncConfinement(RuncOptions options);

}  // namespace glim::nodeagent
