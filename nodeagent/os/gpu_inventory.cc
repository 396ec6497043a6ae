#include "nodeagent/os/gpu_inventory.h"

#include <filesystem>
#include <string>

namespace glim::nodeagent {
namespace {

constexpr std::uint32_t kGpusMax = 1024;

class FixedInventory final : public GpuInventory {
 public:
  FixedInventory(std::uint32_t count, bool simulated) : count_(count), simulated_(simulated) {}
  std::uint32_t count() const override { return count_; }
  bool simulated() const override { return simulated_; }
  bool MemoryFree() override { return true; }

 private:
  const std::uint32_t count_;
  const bool simulated_;
};

std::size_t GpusInMachine() {
  std::error_code error;
  std::size_t found = 0;
  for (std::filesystem::directory_iterator it("/proc/driver/nvidia/gpus", error), end; !error && it != end;
       it.increment(error)) {
    ++found;
  }
  return found;
}

}  // namespace

Result<std::unique_ptr<GpuInventory>> MakeGpuInventory(std::uint32_t wanted, bool simulated) {
  if (wanted > kGpusMax) return InvalidArgument("--gpus", "a node has at most " + std::to_string(kGpusMax) + " GPUs");
  if (wanted > 0 && !simulated) {
    const std::size_t found = GpusInMachine();
    const std::string what = found == 0 ? "no NVIDIA GPU was found in this machine"
                                        : std::to_string(found) +
                                              " GPUs were found, but this version cannot yet see "
                                              "their memory, so it could not tell when they are free again";
    return InvalidArgument("--gpus", "--gpus " + std::to_string(wanted) + ": " + what,
                           "add --simulated-gpus to schedule without real ones, or leave --gpus out");
  }
  return std::unique_ptr<GpuInventory>(std::make_unique<FixedInventory>(wanted, simulated && wanted > 0));
}

}  // namespace glim::nodeagent
