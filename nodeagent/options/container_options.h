// What the operator says of tasks' containers.
#pragma once

#include <cstdint>
#include <string>

#include "nodeagent/devices/device_choice.h"
#include "sdk/base/status.h"

namespace glim::nodeagent {

// Of AgentOptions, where they are described.
struct ContainerWishes {
  bool in_containers = false;
  std::int64_t tmp_bytes_max = 0;
  std::string* user_namespace = nullptr;
  std::int64_t* reserve_memory_bytes = nullptr;
  DeviceChoice devices = {};
};

// Completes them. Plain processes can be held to nothing: what asks for it is refused. Errors name the option.
Status CompleteContainers(const ContainerWishes& wishes);

// Memory that a node keeps for itself if the operator says nothing: 1 GiB or a twentieth, whichever is more, but at
// most half.
std::int64_t ReserveByDefault(std::int64_t memory_total);

}  // namespace glim::nodeagent
