// A container's config.json (Open Container Initiative runtime specification 1.0.2), as runc and crun take it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nodeagent/task/task_files.h"
#include "nodeagent/task/task_user.h"

namespace glim::nodeagent {

struct Bind {
  std::string source;  // absolute, on the node
  std::string target;  // absolute, in the container
  bool read_only = false;
  bool as_mounted = false;  // the source is a mount whose own flags are to stay: no nosuid, no nodev is asked for
};

struct ContainerPlan {
  std::string hostname;
  std::string cgroup;             // absolute, below each controller's root
  std::string rootfs;             // made for this task; read-only to it
  std::vector<std::string> args;  // the first process of the container
  std::vector<std::string> env;   // its environment: "NAME=value"
  std::vector<Bind> binds;        // carried out in this order: a folder before what lies in it
  TaskLimits limits;
  std::vector<std::string> masked;  // paths that it is not to see, beside the usual ones
  std::uint64_t memlock_bytes = 0;  // RLIMIT_MEMLOCK, both; what registered memory counts against
  bool swap_counts = false;         // the kernel can hold memory and swap together to the limit
  bool ends_together = false;       // who has used up the memory is killed with all others; version 2 alone can
  TaskUser user;                    // of its processes
};

// The container: namespaces of its own for processes, mounts, IPC and host name; the network of who starts it; no
// capability, no new privileges, SeccompProfile(), /proc and /sys masked where they show or steer the machine.
std::string RuncConfig(const ContainerPlan& plan);

}  // namespace glim::nodeagent
