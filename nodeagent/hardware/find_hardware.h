// Has a child look at the node's hardware (glim-inventory).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "nodeagent/hardware/inventory.h"

namespace glim::nodeagent {

struct HardwareLook {
  std::string program;  // glim-inventory
  std::string root;     // stands for "/"; empty: "/" itself
  std::string library;  // NVML's
  bool gpus = true;     // false: no driver is asked
  std::chrono::milliseconds limit{20000};

  std::vector<std::string> Command() const;
  // The child that goes on answering who is on the first `count` GPUs.
  std::vector<std::string> WatchCommand(std::uint32_t count) const;
};

// What a child's output comes to; as much as it said before it was given up.
Inventory InventoryOf(const std::string& output, bool in_time);

// Waits for it, at most `limit`: for the agent's start, before there is a loop that somebody else uses.
Inventory FindHardware(const HardwareLook& look);

}  // namespace glim::nodeagent
