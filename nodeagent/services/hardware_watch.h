// What this node is made of, told at each Hello, and the labels that follow from it where nobody told the agent others.
// A child looks (programs/inventory): before the agent's loop begins, and again whenever a stream has ended.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/hardware/find_hardware.h"
#include "nodeagent/hardware/gpu_inventory.h"
#include "nodeagent/options/agent_options.h"
#include "nodeagent/os/child_work.h"

namespace glim::nodeagent {

// Looks, waits for the answer (at most --gpu-seconds) and completes options->gpus. INVALID_ARGUMENT: the GPUs that were
// asked for are not there, or are not served. A driver that hangs is no failure: `gpus.asked` is false then.
Result<Inventory> LookAtHardware(AgentOptions* options);

// On the agent's loop; not thread-safe.
class HardwareWatch {
 public:
  // `options` are complete and outlive it, with what `found` made of them. `on_news`: Introduce says something else.
  HardwareWatch(boost::asio::io_context& io, const AgentOptions& options, Inventory found,
                std::function<void()> on_news);

  // The GPUs of the node's tasks. `changed`: their fault is another.
  std::unique_ptr<GpuInventory> MakeGpus(boost::asio::io_context& io, std::function<void()> changed) const;
  // Looks again, unless a look is under way.
  void Look();
  void Stop();
  // Hello.inventory; labels and defaults, which are in place.
  void Introduce(v1::Hello* hello) const;

 private:
  void OnFound(Inventory found);

  const AgentOptions& options_;
  const std::function<void()> on_news_;
  ChildWork children_;
  ChildWork::Id look_ = 0;
  Inventory found_;
  std::vector<GpuPart> known_;  // the GPUs of the newest answer that had some
  bool hangs_;                  // the first look did
  bool stopped_ = false;
};

}  // namespace glim::nodeagent
