// Which GPUs the node's tasks have, and whether a task's GPUs are empty again. On the agent's loop; nothing blocks:
// real GPUs are asked by a child (gpu_watch.h), and the answer comes later.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nodeagent/hardware/gpu_use.h"
#include "nodeagent/hardware/inventory.h"

namespace glim::nodeagent {

// An answer, or none yet.
using GpuAnswer = std::optional<GpuLeft>;

class GpuInventory {
 public:
  virtual ~GpuInventory() = default;
  virtual std::uint32_t count() const = 0;
  virtual bool simulated() const = 0;
  // A task with GPUs begins, or is found running. What is on them before it, to be kept with the task; empty: unknown.
  virtual std::string TaskBegins(const std::string& task) = 0;
  // It is released.
  virtual void TaskEnded(const std::string& task) = 0;
  // Asks what is on the GPUs from now on. Returns the question's number.
  virtual std::uint64_t Ask() = 0;
  // What is there that was not there `before`, as TaskBegins told that. Without an answer to `question`: nothing yet;
  // but a driver that hangs is an answer, too, and a later one may be better.
  virtual GpuAnswer Left(std::uint64_t question, const std::string& before) const = 0;
  // Why no task may begin here, in a fault's words; empty: they may.
  virtual std::string Fault() const = 0;
  virtual void Stop() = 0;
};

// How many GPUs the node gives to jobs. `wanted`: as the operator said it; without: what is there. `simulated`: numbers
// to schedule by, with nothing behind them. Otherwise they have to be there; INVALID_ARGUMENT says what is, and how to
// mend it. A driver that has not answered yet is believed to have what was wanted, or what is on the bus.
Result<std::uint32_t> ChooseGpus(std::optional<std::uint32_t> wanted, bool simulated, const Inventory& found);

// GPUs that nobody asks: of none, or simulated ones.
std::unique_ptr<GpuInventory> MakeUnaskedGpus(std::uint32_t count, bool simulated);

struct GpuAsking {
  std::vector<std::string> command;        // glim-inventory and its words
  std::chrono::milliseconds limit{20000};  // for an answer
  std::chrono::milliseconds again{60000};  // between looks while no task is there
  bool hangs = false;                      // it has just not answered
  std::function<void()> changed;           // the fault is another
};
// Real ones.
std::unique_ptr<GpuInventory> MakeAskedGpus(boost::asio::io_context& io, std::uint32_t count, GpuAsking asking);

}  // namespace glim::nodeagent
