// How a task's processes are kept apart from their node: not at all, or in a container.
//
// Called on the agent's loop; each call takes a few file operations in the agent's own folder, Sweep of a container
// also a run of runc. No call touches what a job names: storage that hangs would hold up the agent. Errors are about
// the task ("mounts[0].source ...") or about the node ("cannot create a folder").
#pragma once

#include <set>
#include <string>

#include "nodeagent/task/task_files.h"
#include "nodeagent/task/user_paths.h"
#include "sdk/base/result.h"

namespace glim::nodeagent {

class Confinement {
 public:
  virtual ~Confinement() = default;
  virtual std::string name() const = 0;
  // What the job names of the node's file systems, to be looked at, and made where it is missing, before Prepare.
  virtual PathOrder PathsOf(const LaunchSpec& spec) const = 0;
  // The task's folder is there, and `found` answers PathsOf. Makes the job's own checkpoint folder, and adds to the
  // task's, and to the spec, what the shim needs.
  virtual Status Prepare(const TaskPaths& paths, const PathAnswers& found, LaunchSpec* spec) const = 0;
  // Removes what a task leaves outside its folder when its shim was killed; its processes are gone.
  virtual void Sweep(const LaunchSpec& spec) const = 0;
  // When the agent starts: removes what is left of tasks that are none of `tasks`, and kills nothing.
  virtual void SweepOthers(const std::set<std::string>& tasks) const = 0;
};

}  // namespace glim::nodeagent
