// What a task's container sees of its node: what the job names, as far as the operator gives it to jobs, the node's own
// system and SDK, and the task's own folders. Looks at the agent's and the operator's files alone.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nodeagent/confinement/runc_options.h"
#include "nodeagent/confinement/task_mounts.h"
#include "nodeagent/devices/node_devices.h"
#include "nodeagent/task/task_files.h"
#include "nodeagent/task/user_paths.h"
#include "sdk/base/result.h"

namespace glim::nodeagent {

inline constexpr const char* kInitTarget = "/run/glim-init";

// Of /etc, which a container has from its task's bundle (account_files.h).
inline constexpr const char* kAccountFiles[] = {"passwd", "group", "hosts"};
inline std::string AccountFile(const TaskPaths& paths, const std::string& name) { return paths.bundle() + "/" + name; }

Status RefuseFolder(const std::string& field, const std::string& path);

// Of one launch, whose user is known. References outlive it.
class ContainerMounts {
 public:
  ContainerMounts(const RuncOptions& node, const LaunchSpec& spec)
      : node_(node), spec_(spec), rules_{node.mount_allow, node.state_dir, *spec.user} {}

  const MakeRules& rules() const { return rules_; }
  // What the job names, to be looked at; `found` answers it.
  PathOrder Paths() const;
  // Whether the job has no checkpoint folder but one of the agent's.
  bool IsOwnCheckpoint() const { return IsOwnCheckpointFolder(node_.state_dir, spec_); }
  Status CheckCheckpointFolder(const PathAnswers& found) const;
  // In the order in which they are mounted.
  // `files`: of the node's devices; the operator's own.
  Result<std::vector<TaskMount>> All(const TaskPaths& paths, const PathAnswers& found,
                                     const std::vector<DeviceFile>& files) const;

 private:
  Status AddAsked(const PathAnswers& found, std::vector<TaskMount>* all) const;
  Status AddCode(std::vector<TaskMount>* all) const;
  Status AddUnlessSeen(const char* field, const std::string& path, const PathAnswers& found,
                       std::vector<TaskMount>* all) const;
  Status Add(const std::string& field, const Mount& mount, const PathAnswers& found, std::vector<TaskMount>* all) const;

  const RuncOptions& node_;
  const LaunchSpec& spec_;
  const MakeRules rules_;
};

}  // namespace glim::nodeagent
