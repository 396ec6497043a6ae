// What the operator gives to tasks of the node's devices (--devices, --infiniband), and what that comes to for one of
// them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nodeagent/devices/node_devices.h"
#include "sdk/base/result.h"

namespace glim::nodeagent {

struct DeviceChoice {
  // For tasks with GPUs. "auto": what CDI calls nvidia.com/gpu=all where a file has that, else "nvidia"; "nvidia": the
  // driver's own nodes; "none"; or names of CDI devices ("nvidia.com/gpu=all"), one or several.
  std::vector<std::string> devices = {"auto"};
  std::string infiniband = "auto";  // for all tasks: the cards that the node has; or "no"
  bool cdi_writable = false;        // CDI mounts may be written to where their file does not forbid it
  bool simulated_gpus = false;      // nothing is behind the GPUs' number: "auto" gives nothing
  std::string root;                 // stands for "/", in tests
};

// INVALID_ARGUMENT, with the option as field, where it says what is none of these.
Status CheckChoice(const DeviceChoice& choice);

// Whether tasks with GPUs get any devices on this node.
bool GivesGpus(const DeviceChoice& choice);

// `in_image`: the container does not see the node's own system.
// Looks anew each time: a driver may have been loaded since, and a card may have gone. A few reads of /dev, /proc, /sys
// and the CDI folders. An error is one of the node; `fix` says what the operator does.
Result<NodeDevices> DevicesOf(const DeviceChoice& choice, std::uint32_t gpus, bool in_image = false);

}  // namespace glim::nodeagent
