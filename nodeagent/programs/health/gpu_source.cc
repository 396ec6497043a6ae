#include "nodeagent/programs/health/gpu_source.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nodeagent/hardware/nvml.h"
#include "nodeagent/hardware/nvml_abi.h"
#include "nodeagent/health/gpu_rules.h"
#include "nodeagent/os/boot_clock.h"

namespace glim::nodeagent::health {
namespace {

constexpr std::chrono::seconds kGpusEvery{5};
constexpr std::chrono::seconds kGpusDeadline{30};
constexpr int kLooksToLibrary = 60;  // a driver may be installed later

std::string ThrottledBy(std::uint64_t reasons) {
  std::string words;
  for (const auto& [bit, word] :
       {std::pair(nvml::kThrottleHardware, "slowdown"), std::pair(nvml::kThrottleHardwareThermal, "heat"),
        std::pair(nvml::kThrottleSoftwareThermal, "heat, by the driver"),
        std::pair(nvml::kThrottlePowerBrake, "power brake")}) {
    if ((reasons & bit) != 0) words += (words.empty() ? "" : ", ") + std::string(word);
  }
  return words;
}

GpuReading ReadingOf(const NvmlHealth& health) {
  GpuReading reading;
  reading.corrected = health.ecc.volatile_corrected;
  reading.uncorrected = health.ecc.volatile_uncorrected;
  reading.remap_failed = health.rows && health.rows->failed;
  reading.reset_pending = (health.rows && health.rows->pending) || health.retired_pages_pending.value_or(false);
  for (const NvmlLink& link : health.links) reading.links.push_back({link.number, link.active});
  reading.throttled_by = ThrottledBy(health.throttle_reasons.value_or(0));
  reading.throttled = !reading.throttled_by.empty();
  reading.width = health.pcie_width.value_or(0);
  reading.most_width = health.pcie_max_width.value_or(0);
  reading.generation = health.pcie_generation.value_or(0);
  reading.most_generation = health.pcie_max_generation.value_or(0);
  reading.busy_percent = health.gpu_percent.value_or(0);
  return reading;
}

class Gpus {
 public:
  explicit Gpus(std::string library) : library_(std::move(library)) {}

  Looks Look(Memory& memory) {
    std::vector<GpuReading> readings;
    const Status status = Read(&readings);
    Looks looks;
    if (!readings.empty() || status.ok()) looks = LookAtGpus(readings, BootNow().ms, memory);
    looks.gpus = std::exchange(uses_, {});
    // Without a driver there are no GPUs to look at, unless there were some.
    const bool none = status.code() == StatusCode::kNotFound && memory.empty();
    if (!status.ok() && !none) looks.conditions.push_back(BlindTo("gpus", status.message()));
    return looks;
  }

 private:
  // What cannot be read at all ends the library's use: it is loaded anew at the next look.
  Status Read(std::vector<GpuReading>* readings) {
    uses_.clear();
    if (Status status = Load(); !status.ok()) return status;
    const Result<std::uint32_t> count = nvml_->Count();
    if (!count.ok()) {
      nvml_.reset();
      return count.status();
    }
    Status failure;
    for (std::uint32_t index = 0; index < *count; ++index) {
      GpuReading reading;
      bool is_idle = false;
      const Status status = ReadOne(index, &reading, &is_idle);
      if (!status.ok() && status.reason() != kGpuIsLost) failure = status;
      reading.lost = status.reason() == kGpuIsLost;
      reading.unread = !status.ok();
      reading.pci = addresses_[index];
      if (!reading.lost && uses_.size() < kGpusMax) uses_.push_back({reading.pci, !is_idle});
      if (!reading.pci.empty()) readings->push_back(std::move(reading));
    }
    return failure;
  }

  Status ReadOne(std::uint32_t index, GpuReading* reading, bool* idle) {
    const Result<NvmlGpu> gpu = nvml_->Gpu(index);
    if (!gpu.ok()) return gpu.status();
    addresses_[index] = gpu->pci;
    const Result<NvmlHealth> health = nvml_->Health(index);
    if (health.ok()) *reading = ReadingOf(*health);
    if (health.ok() && health->gpu_percent == 0u) *idle = true;
    return health.status();
  }

  Status Load() {
    if (nvml_) return Status::Ok();
    if (skip_ > 0) {
      --skip_;
      return missing_;
    }
    Result<std::unique_ptr<Nvml>> opened = Nvml::Open(library_.empty() ? kNvmlLibrary : library_);
    if (opened.ok()) {
      nvml_ = std::move(opened).value();
      return Status::Ok();
    }
    missing_ = opened.status();
    if (missing_.code() == StatusCode::kNotFound) skip_ = kLooksToLibrary;
    return missing_;
  }

  const std::string library_;
  std::unique_ptr<Nvml> nvml_;
  std::map<std::uint32_t, std::string> addresses_;  // by index, as they were last
  std::vector<GpuUse> uses_;                        // of the look that is under way
  int skip_ = 0;
  Status missing_;
};

}  // namespace

Source GpuSource(const HealthOptions& options) {
  const auto gpus = std::make_shared<Gpus>(options.nvml);
  return {"gpus", options.Every(kGpusEvery), options.Within(kGpusDeadline),
          [gpus](Memory& memory) { return gpus->Look(memory); }};
}

}  // namespace glim::nodeagent::health
