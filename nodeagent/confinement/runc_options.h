// What the operator's choices come to for the containers of a node. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nodeagent/confinement/seccomp_profile.h"
#include "nodeagent/devices/device_choice.h"

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
  SeccompChoices seccomp;
  bool user_namespace = false;            // containers have ids of their own for root
  std::int64_t reserve_memory_bytes = 0;  // of the node, which tasks that ask for no memory do not get
  bool saves_group_readable = false;      // folders of saves that are made are their user's group's to read
  DeviceChoice devices;                   // what tasks get of the node's hardware
};

}  // namespace glim::nodeagent
