// A container's config.json (Open Container Initiative runtime specification 1.0.2), as runc and crun take it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nodeagent/confinement/seccomp_profile.h"
#include "nodeagent/devices/node_devices.h"
#include "nodeagent/task/task_files.h"
#include "nodeagent/task/task_user.h"
#include "sdk/base/status.h"

namespace glim::nodeagent {

struct ContainerPlan {
  std::string hostname;
  std::string cgroup;             // absolute, below each controller's root
  std::string rootfs;             // with all that it sees of the node (container_root.h)
  bool writable_root = false;     // what an image's files lie in; else read-only to it
  std::vector<std::string> args;  // the first process of the container
  std::vector<std::string> env;   // its environment: "NAME=value"
  TaskLimits limits;
  std::uint64_t memlock_bytes = 0;  // RLIMIT_MEMLOCK, both; what registered memory counts against
  std::uint64_t files = 0;          // RLIMIT_NOFILE, both
  int oom_score = 0;                // of its first process (os/oom_score.h)
  SeccompChoices seccomp;
  bool swap_counts = false;         // the kernel can hold memory and swap together to the limit
  bool ends_together = false;       // who has used up the memory is killed with all others; version 2 alone can
  TaskUser user;                    // of its processes
  bool user_namespace = false;      // its root is nobody on the node (os/user_namespace.h); CheckMapping was asked
  std::vector<DeviceNode> devices;  // in its /dev, and in its control group: beside these the usual ones alone
  std::string huge_pages;           // a folder that it sees as /dev/hugepages; empty: none
};

// The container: namespaces of its own for processes, mounts, IPC, host name and control groups; the network of who
// starts it; no capability, no new privileges, SeccompProfile(), /proc and /sys masked where they show or steer the
// machine. Its devices are the node's own nodes, bound into its /dev: inside a user namespace none can be made, and
// these keep their owner and mode. What the control group does not list opens nothing, wherever a node of it stands.
std::string RuncConfig(const ContainerPlan& plan);

// Whether the user can be mapped into a user namespace: the kernel takes so many ids, and one id stands for root.
Status CheckMapping(const TaskUser& user);

}  // namespace glim::nodeagent
