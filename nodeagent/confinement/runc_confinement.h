// Tasks in containers, under runc or a runtime with its command line, such as crun.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nodeagent/confinement/confinement.h"

namespace glim::nodeagent {

// Where a container sees its node's SDK.
inline constexpr const char* kSdkTarget = "/run/glim/sdk";
// And the task's secrets and its token, if it has any.
inline constexpr const char* kPrivateTarget = "/run/glim/private";

struct RuncOptions {
  std::string name;           // runc or crun: what users are told, and its folder in the state folder
  std::string runc;           // the program
  std::string init;           // the program glim-init
  std::string task_program;   // glim-task, shown at its own path to tasks without an SDK
  std::string state_dir;      // runc's own state lies in it
  std::string cgroup_parent;  // absolute, below each controller's root
  std::string hostname;
  std::vector<std::string> mount_allow;  // what of the node jobs may name: these folders and all below
  std::string sdk;                       // shown to the task, with its glim-task, at kSdkTarget; empty: none
};

// A container for each task, whose processes are LaunchSpec.user, with the node's own /usr, /etc and /opt, read-only,
// as its system ("image: host"). It sees its workdir, its checkpoint folder and its mounts, which must lie in
// `mount_allow`, a /tmp of its own, and nothing else of the node.
std::unique_ptr<Confinement> MakeRuncConfinement(RuncOptions options);

}  // namespace glim::nodeagent
