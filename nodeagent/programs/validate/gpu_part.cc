#include "nodeagent/programs/validate/gpu_part.h"

#include <algorithm>
#include <memory>
#include <string>
#include <thread>

#include "nodeagent/hardware/node_parts.h"
#include "nodeagent/hardware/nvml.h"
#include "nodeagent/programs/validate/gpu_copy.h"
#include "nodeagent/programs/validate/gpu_kernels.h"
#include "nodeagent/programs/validate/gpu_memory.h"
#include "nodeagent/programs/validate/gpu_multiply.h"
#include "nodeagent/programs/validate/gpu_tensor_kernels.h"
#include "nodeagent/programs/validate/node_shape.h"
#include "sdk/device/driver.h"

namespace glim::validate {
namespace {

using nodeagent::GpuPart;
using nodeagent::GpuParts;

constexpr double kFullGpuSeconds = 30;
constexpr std::uint32_t kQuickSide = 4096;
constexpr std::uint32_t kFullSide = 8192;
constexpr std::size_t kQuickCopyBytes = std::size_t{64} << 20;
constexpr std::size_t kFullCopyBytes = std::size_t{256} << 20;
constexpr int kTensorsFrom = 8;
// GB/s of one lane and direction, by the generation of PCI Express.
constexpr double kLaneGbps[] = {0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};

bool IsTaken(const Status& status) { return status.reason() == device::kGpuIsTaken; }

Status Taken(const std::string& gpu, const Status& status) {
  return Status(StatusCode::kResourceExhausted, gpu + ": " + status.message())
      .WithReason(device::kGpuIsTaken)
      .WithFix("end what else runs on the GPUs; `nvidia-smi` shows it");
}

Reading Failed(const char* what, const std::string& device, const Status& status) {
  return {.part = "gpu", .what = what, .device = device, .wrong = "it failed: " + status.message(), .note = {}};
}

// What one GPU does by itself.
struct OfGpu {
  std::unique_ptr<device::Gpu> gpu;
  std::vector<Reading> readings;
  Status error;  // taken by others
  bool failed = false;

  // False: it goes no further with this GPU.
  bool Add(const char* what, Readings more) {
    if (more.ok()) {
      for (Reading& reading : *more) readings.push_back(std::move(reading));
      return true;
    }
    if (IsTaken(more.status())) error = Taken(GpuName(*gpu), more.status());
    failed = true;
    readings.push_back(Failed(what, GpuName(*gpu), more.status()));
    return false;
  }

  void Alone(const Options& options) {
    Status loaded = gpu->Load(kGpuKernels);
    if (loaded.ok() && gpu->capability_major() >= kTensorsFrom) loaded = gpu->Load(kGpuTensorKernels);
    if (!loaded.ok()) {
      Add("patterns", loaded);
      return;
    }
    const double seconds = options.full ? kFullGpuSeconds : options.gpu_seconds;
    if (!Add("patterns", MeasureGpuMemory(*gpu, options.full))) return;
    Add("multiply", MeasureGpuMultiply(*gpu, seconds, options.full ? kFullSide : kQuickSide));
  }
};

class GpuTest {
 public:
  explicit GpuTest(const Options& options) : options_(options), tree_(options.sys_root) {}

  Readings Run() {
    const std::string library = options_.cuda_library.empty() ? device::kDriverLibrary : options_.cuda_library;
    auto driver = device::Driver::Open(library);
    if (!driver.ok()) return driver.status();
    Status opened = OpenAll(*driver);
    if (!opened.ok()) return opened;
    nvml_library_ = options_.nvml_library.empty() ? nodeagent::kNvmlLibrary : options_.nvml_library;
    parts_ = nodeagent::FindGpus(tree_, nvml_library_);
    // All of them at once: so the node gives all the power that it has to.
    std::vector<std::thread> threads;
    for (OfGpu& of : gpus_) threads.emplace_back([this, &of] { of.Alone(options_); });
    for (std::thread& thread : threads) thread.join();
    for (OfGpu& of : gpus_) {
      if (!of.error.ok()) return of.error;
      for (Reading& reading : of.readings) readings_.push_back(std::move(reading));
      of.readings.clear();
    }
    std::erase_if(gpus_, [](const OfGpu& of) { return of.failed; });
    Status copied = Copies();
    if (!copied.ok()) return copied;
    Links();
    return readings_;
  }

 private:
  Status OpenAll(const std::shared_ptr<const device::Driver>& driver) {
    const Result<int> count = driver->DeviceCount();
    if (!count.ok()) return count.status();
    for (int index = 0; index < *count; ++index) {
      auto gpu = device::Gpu::Open(driver, index);
      const std::string name = "gpu" + std::to_string(index);
      if (gpu.ok()) {
        gpus_.push_back({.gpu = std::move(*gpu), .readings = {}, .error = {}});
      } else if (IsTaken(gpu.status())) {
        return Taken(name, gpu.status());
      } else {
        readings_.push_back(Failed("patterns", name, gpu.status()));
      }
    }
    return Status::Ok();
  }

  // One after the other: they share what leads to them.
  Status Copies() {
    const std::size_t bytes = options_.full ? kFullCopyBytes : kQuickCopyBytes;
    for (OfGpu& of : gpus_) {
      const int node = tree_.NumaNodeOf(of.gpu->pci());
      Readings copies = Status(StatusCode::kInternal, "not measured");
      std::thread([&] {  // a thread of its own is pinned, not the caller's
        PinBeside(node);
        copies = MeasureGpuHostCopies(*of.gpu, bytes);
      })
          .join();
      if (copies.ok() && node >= 0) {
        for (Reading& reading : *copies) reading.note = "memory of node" + std::to_string(node);
      }
      of.Add("to_device", std::move(copies));
      if (!of.error.ok()) return of.error;
      for (Reading& reading : of.readings) readings_.push_back(std::move(reading));
    }
    std::vector<std::unique_ptr<device::Gpu>> all;
    for (OfGpu& of : gpus_) {
      if (!of.failed) all.push_back(std::move(of.gpu));
    }
    gpus_.clear();
    if (all.size() < 2) return Status::Ok();
    Readings peers = MeasureGpuPeers(
        all, [&](const device::Gpu& from, const device::Gpu& to) { return Linked(from, to); }, bytes);
    if (!peers.ok()) {
      if (IsTaken(peers.status())) return Taken("the GPUs", peers.status());
      readings_.push_back(Failed("peer_pci", "all GPUs", peers.status()));
      return Status::Ok();
    }
    for (Reading& reading : *peers) readings_.push_back(std::move(reading));
    return Status::Ok();
  }

  static void PinBeside(int numa_node) {
    for (const NumaNode& node : NumaNodesHere()) {
      if (node.number == numa_node && !node.cpus.empty()) PinTo(node.cpus.front());
    }
  }

  const GpuPart* PartOf(const device::Gpu& gpu) const {
    const auto found = std::find_if(parts_.gpus.begin(), parts_.gpus.end(),
                                    [&](const GpuPart& part) { return part.pci == gpu.pci(); });
    return found == parts_.gpus.end() ? nullptr : &*found;
  }

  bool Linked(const device::Gpu& from, const device::Gpu& to) const {
    const GpuPart* const a = PartOf(from);
    const GpuPart* const b = PartOf(to);
    return a != nullptr && b != nullptr && std::find(a->nvlink.begin(), a->nvlink.end(), b->index) != a->nvlink.end();
  }

  // As NVML tells them; without it they are left out.
  void Links() {
    const auto nvml = nodeagent::Nvml::Open(nvml_library_);
    if (!nvml.ok()) return;
    for (const GpuPart& part : parts_.gpus) {
      const Result<nodeagent::NvmlHealth> health = (*nvml)->Health(part.index);
      if (!health.ok() || !health->pcie_width || !health->pcie_generation) continue;
      const std::uint32_t width = *health->pcie_width, generation = *health->pcie_generation;
      const std::uint32_t most = health->pcie_max_width.value_or(width);
      Reading reading{.part = "gpu", .what = "link", .device = part.pci, .wrong = {}, .note = {}};
      reading.value = width * kLaneGbps[std::min<std::size_t>(generation, std::size(kLaneGbps) - 1)];
      // The generation sinks when a GPU has nothing to do; the width is what the slot and the contacts give.
      reading.note = "x" + std::to_string(width) + ", generation " + std::to_string(generation) + " now";
      if (width < most) {
        reading.wrong = "the link to the GPU has " + std::to_string(width) + " lanes of " + std::to_string(most);
      }
      readings_.push_back(std::move(reading));
    }
  }

  const Options& options_;
  const nodeagent::SysTree tree_;
  std::string nvml_library_;
  GpuParts parts_;
  std::vector<OfGpu> gpus_;
  std::vector<Reading> readings_;
};

}  // namespace

Readings MeasureGpu(const Options& options) { return GpuTest(options).Run(); }

}  // namespace glim::validate
