// Which GPUs the node has, and whether a task's GPUs are empty again. Called on the agent's loop; must not block.
#pragma once

#include <cstdint>
#include <memory>

#include "sdk/base/result.h"

namespace glim::nodeagent {

class GpuInventory {
 public:
  virtual ~GpuInventory() = default;
  virtual std::uint32_t count() const = 0;
  virtual bool simulated() const = 0;
  // Whether the node's GPUs hold no memory any more. Asked again every few ten milliseconds while it says no.
  virtual bool MemoryFree() = 0;
};

// `wanted` GPUs. `simulated`: numbers to schedule by, with nothing behind them, always free. Otherwise they have to be
// there, and this version can tell that only of zero: anything else is refused with the way out.
Result<std::unique_ptr<GpuInventory>> MakeGpuInventory(std::uint32_t wanted, bool simulated);

}  // namespace glim::nodeagent
