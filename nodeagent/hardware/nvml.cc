#include "nodeagent/hardware/nvml.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "nodeagent/hardware/nvml_abi.h"
#include "sdk/device/library.h"

namespace glim::nodeagent {
namespace {

using nvml::Return;

// The number of processes may grow between two calls; a driver of the 535 series wrote larger records than it should.
constexpr unsigned kProcessesMax = 4096;
constexpr unsigned kProcessesFirst = 64;

std::string AddressOf(const nvml::PciInfo& pci) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", pci.domain, pci.bus, pci.device);
  return text;
}

}  // namespace

// Null: the library does not have it.
struct Nvml::Functions {
  nvml::Shutdown* shutdown = nullptr;
  nvml::ErrorString* words = nullptr;
  nvml::SystemText* driver = nullptr;
  nvml::Count* count = nullptr;
  nvml::HandleByIndex* handle = nullptr;
  nvml::DeviceText *name = nullptr, *uuid = nullptr;
  nvml::DevicePci* pci = nullptr;
  nvml::DeviceMemory* memory = nullptr;
  nvml::DeviceMemoryV2* memory_v2 = nullptr;
  nvml::DeviceProcesses *compute = nullptr, *graphics = nullptr;
  nvml::DeviceMig* mig = nullptr;
  nvml::DeviceLinkState* link_state = nullptr;
  nvml::DeviceLinkPci* link_pci = nullptr;
  nvml::DeviceLinkType* link_type = nullptr;
  nvml::DeviceEcc* ecc = nullptr;
  nvml::DeviceRows* rows = nullptr;
  nvml::DeviceFlag* retired_pending = nullptr;
  nvml::DeviceClock *clock = nullptr, *max_clock = nullptr;
  nvml::DeviceReasons* throttle = nullptr;
  nvml::DeviceNumber *generation = nullptr, *width = nullptr, *max_generation = nullptr, *max_width = nullptr;
  nvml::DeviceNumber* replays = nullptr;
  nvml::DeviceUtilization* utilization = nullptr;
  nvml::DeviceTemperature* temperature = nullptr;

  Status Failure(const std::string& what, Return code) const {
    const char* said = words == nullptr ? nullptr : words(code);
    const std::string text = what + ": " + (said == nullptr ? "error " + std::to_string(code) : std::string(said));
    Status status(StatusCode::kUnavailable, text);
    if (code == nvml::kGpuIsLost || code == nvml::kResetRequired) return std::move(status).WithReason(kGpuIsLost);
    return status;
  }

  Result<nvml::Device> DeviceOf(std::uint32_t index) const {
    nvml::Device device = nullptr;
    const Return code = handle(index, &device);
    if (code == nvml::kSuccess) return device;
    return Failure("GPU " + std::to_string(index), code);
  }

  // A value that this GPU has not is no failure; a GPU that is lost is.
  static std::optional<std::uint32_t> Number(nvml::DeviceNumber* function, nvml::Device device) {
    unsigned value = 0;
    if (function == nullptr || function(device, &value) != nvml::kSuccess) return std::nullopt;
    return value;
  }
  static std::optional<std::uint32_t> Clock(nvml::DeviceClock* function, nvml::Device device, int which) {
    unsigned value = 0;
    if (function == nullptr || function(device, which, &value) != nvml::kSuccess) return std::nullopt;
    return value;
  }
  std::optional<std::int64_t> Errors(nvml::Device device, int error, int counter) const {
    unsigned long long value = 0;
    if (ecc == nullptr || ecc(device, error, counter, &value) != nvml::kSuccess) return std::nullopt;
    return static_cast<std::int64_t>(value);
  }

  Status AddProcesses(nvml::DeviceProcesses* function, nvml::Device device, std::vector<NvmlProcess>* all) const;
  std::vector<NvmlLink> LinksOf(nvml::Device device) const;
  void Load(const device::Library& library, std::vector<std::string>* warnings);
};

// Each process once: one that computes and draws is in both lists.
Status Nvml::Functions::AddProcesses(nvml::DeviceProcesses* function, nvml::Device device,
                                     std::vector<NvmlProcess>* all) const {
  if (function == nullptr) return Status::Ok();
  for (unsigned room = kProcessesFirst; room <= kProcessesMax; room *= 4) {
    std::vector<nvml::ProcessInfo> found(std::size_t{2} * room);
    unsigned count = room;
    const Return code = function(device, &count, found.data());
    if (code == nvml::kInsufficientSize) continue;
    if (code == nvml::kNotSupported) return Status::Ok();
    if (code != nvml::kSuccess) return Failure("its processes", code);
    for (unsigned i = 0; i < std::min(count, room); ++i) {
      const bool known =
          std::any_of(all->begin(), all->end(), [&](const NvmlProcess& p) { return p.pid == found[i].pid; });
      const bool is_told = found[i].used_memory != ~0ull;
      if (!known) all->push_back({found[i].pid, is_told ? static_cast<std::int64_t>(found[i].used_memory) : -1});
    }
    return Status::Ok();
  }
  return Status(StatusCode::kUnavailable, "it has more than " + std::to_string(kProcessesMax) + " processes");
}

std::vector<NvmlLink> Nvml::Functions::LinksOf(nvml::Device device) const {
  std::vector<NvmlLink> links;
  for (unsigned number = 0; link_state != nullptr && number < nvml::kLinksMax; ++number) {
    int active = 0;
    if (link_state(device, number, &active) != nvml::kSuccess) continue;
    NvmlLink link;
    link.number = number;
    link.active = active == 1;
    int type = nvml::kLinkToGpu;
    link.to_switch =
        link_type != nullptr && link_type(device, number, &type) == nvml::kSuccess && type == nvml::kLinkToSwitch;
    nvml::PciInfo pci{};
    if (link_pci != nullptr && link_pci(device, number, &pci) == nvml::kSuccess) link.remote_pci = AddressOf(pci);
    links.push_back(std::move(link));
  }
  return links;
}

void Nvml::Functions::Load(const device::Library& library, std::vector<std::string>* warnings) {
  const auto find = [&](const char* symbol, auto*& function, const char* without = nullptr) {
    library.Find(symbol, function);
    if (function == nullptr && without != nullptr) {
      warnings->push_back(std::string("the driver's library has no ") + symbol + ": " + without);
    }
  };
  find("nvmlShutdown", shutdown);
  find("nvmlErrorString", words);
  find("nvmlSystemGetDriverVersion", driver);
  find("nvmlDeviceGetCount_v2", count);
  find("nvmlDeviceGetHandleByIndex_v2", handle);
  find("nvmlDeviceGetName", name);
  find("nvmlDeviceGetUUID", uuid);
  find("nvmlDeviceGetPciInfo_v3", pci);
  find("nvmlDeviceGetMemoryInfo", memory);
  find("nvmlDeviceGetMemoryInfo_v2", memory_v2);
  find("nvmlDeviceGetComputeRunningProcesses_v3", compute);
  if (compute == nullptr) {
    find("nvmlDeviceGetComputeRunningProcesses_v2", compute,
         "whether a task's GPUs are empty is told by their memory alone");
  }
  find("nvmlDeviceGetGraphicsRunningProcesses_v3", graphics);
  if (graphics == nullptr) find("nvmlDeviceGetGraphicsRunningProcesses_v2", graphics);
  find("nvmlDeviceGetMigMode", mig);
  find("nvmlDeviceGetNvLinkState", link_state, "NVLink is not seen");
  find("nvmlDeviceGetNvLinkRemotePciInfo_v2", link_pci, "which GPUs NVLink connects is not seen");
  find("nvmlDeviceGetNvLinkRemoteDeviceType", link_type);
  find("nvmlDeviceGetTotalEccErrors", ecc, "ECC errors are not seen");
  find("nvmlDeviceGetRemappedRows", rows, "remapped rows are not seen");
  find("nvmlDeviceGetRetiredPagesPendingStatus", retired_pending);
  find("nvmlDeviceGetClockInfo", clock);
  find("nvmlDeviceGetMaxClockInfo", max_clock);
  find("nvmlDeviceGetCurrentClocksThrottleReasons", throttle);
  if (throttle == nullptr) {
    find("nvmlDeviceGetCurrentClocksEventReasons", throttle, "throttled clocks are not seen");
  }
  find("nvmlDeviceGetCurrPcieLinkGeneration", generation);
  find("nvmlDeviceGetCurrPcieLinkWidth", width);
  find("nvmlDeviceGetMaxPcieLinkGeneration", max_generation);
  find("nvmlDeviceGetMaxPcieLinkWidth", max_width);
  find("nvmlDeviceGetPcieReplayCounter", replays);
  find("nvmlDeviceGetUtilizationRates", utilization);
  find("nvmlDeviceGetTemperature", temperature);
}

Nvml::Nvml(std::unique_ptr<Functions> functions, std::vector<std::string> warnings)
    : functions_(std::move(functions)), warnings_(std::move(warnings)) {}

Nvml::~Nvml() { functions_->shutdown(); }

Result<std::unique_ptr<Nvml>> Nvml::Open(const std::string& name) {
  const Result<device::Library> library = device::Library::Open(name);
  if (!library.ok()) {
    return Status(StatusCode::kNotFound,
                  "the library of NVIDIA's driver cannot be loaded: " + library.status().message())
        .WithFix("install the driver with its libnvidia-ml.so.1, or name the library with --nvml");
  }
  auto functions = std::make_unique<Functions>();
  std::vector<std::string> warnings;
  functions->Load(*library, &warnings);
  nvml::InitWithFlags* init = nullptr;
  library->Find("nvmlInitWithFlags", init);
  const Functions& f = *functions;
  const bool has_memory = f.memory != nullptr || f.memory_v2 != nullptr;
  if (init == nullptr || f.shutdown == nullptr || f.count == nullptr || f.handle == nullptr || f.name == nullptr ||
      f.uuid == nullptr || f.pci == nullptr || !has_memory) {
    return Status(StatusCode::kFailedPrecondition, name +
                                                       " is too old, or is not NVML: it lacks functions that have "
                                                       "been there since the drivers of 2018")
        .WithFix("install a newer driver");
  }
  // A GPU that is sick does not keep the others from being seen.
  const Return code = init(nvml::kInitNoGpus);
  if (code == nvml::kSuccess) return std::unique_ptr<Nvml>(new Nvml(std::move(functions), std::move(warnings)));
  std::string fix = "look at what nvidia-smi says";
  if (code == nvml::kDriverNotLoaded) fix = "load the driver: modprobe nvidia";
  if (code == nvml::kVersionMismatch) fix = "start the node anew, or load the driver anew: it was upgraded underneath";
  return Status(StatusCode::kFailedPrecondition, f.Failure("NVIDIA's driver does not work", code).message())
      .WithFix(fix);
}

std::string Nvml::DriverVersion() const {
  char text[nvml::kTextBytes] = {};
  if (functions_->driver == nullptr || functions_->driver(text, sizeof text) != nvml::kSuccess) return "";
  return std::string(text, ::strnlen(text, sizeof text));
}

Result<std::uint32_t> Nvml::Count() const {
  unsigned count = 0;
  const Return code = functions_->count(&count);
  if (code != nvml::kSuccess) return functions_->Failure("the number of GPUs", code);
  return std::uint32_t{count};
}

Result<NvmlGpu> Nvml::Gpu(std::uint32_t index) const {
  const Functions& f = *functions_;
  const Result<nvml::Device> device = f.DeviceOf(index);
  if (!device.ok()) return device.status();
  char name[nvml::kTextBytes] = {}, uuid[nvml::kTextBytes] = {};
  nvml::PciInfo pci{};
  nvml::Memory memory{};
  nvml::MemoryV2 memory_v2{};
  memory_v2.version = nvml::kMemoryV2;
  Return code = f.name(*device, name, sizeof name);
  if (code == nvml::kSuccess) code = f.uuid(*device, uuid, sizeof uuid);
  if (code == nvml::kSuccess) code = f.pci(*device, &pci);
  if (code == nvml::kSuccess) {
    code = f.memory != nullptr ? f.memory(*device, &memory) : f.memory_v2(*device, &memory_v2);
  }
  if (code != nvml::kSuccess) return f.Failure("GPU " + std::to_string(index), code);
  NvmlGpu gpu;
  gpu.name.assign(name, ::strnlen(name, sizeof name));
  gpu.uuid.assign(uuid, ::strnlen(uuid, sizeof uuid));
  gpu.pci = AddressOf(pci);
  gpu.memory_bytes = static_cast<std::int64_t>(f.memory != nullptr ? memory.total : memory_v2.total);
  unsigned current = 0, pending = 0;
  gpu.mig = f.mig != nullptr && f.mig(*device, &current, &pending) == nvml::kSuccess && (current == 1 || pending == 1);
  return gpu;
}

Result<NvmlUse> Nvml::Use(std::uint32_t index) const {
  const Functions& f = *functions_;
  const Result<nvml::Device> device = f.DeviceOf(index);
  if (!device.ok()) return device.status();
  nvml::Memory memory{};
  nvml::MemoryV2 memory_v2{};
  memory_v2.version = nvml::kMemoryV2;
  // The second version counts apart what the driver keeps for itself.
  const bool second = f.memory_v2 != nullptr && f.memory_v2(*device, &memory_v2) == nvml::kSuccess;
  const Return code = second ? nvml::kSuccess : f.memory != nullptr ? f.memory(*device, &memory) : nvml::kNotSupported;
  if (code != nvml::kSuccess) return f.Failure("GPU " + std::to_string(index) + ": its memory", code);
  NvmlUse use;
  use.memory_used_bytes = static_cast<std::int64_t>(second ? memory_v2.used : memory.used);
  Status status = f.AddProcesses(f.compute, *device, &use.processes);
  if (status.ok()) status = f.AddProcesses(f.graphics, *device, &use.processes);
  if (!status.ok()) {
    return Status(status.code(), "GPU " + std::to_string(index) + ": " + status.message()).WithReason(status.reason());
  }
  return use;
}

Result<std::vector<NvmlLink>> Nvml::Links(std::uint32_t index) const {
  const Result<nvml::Device> device = functions_->DeviceOf(index);
  if (!device.ok()) return device.status();
  return functions_->LinksOf(*device);
}

Result<NvmlHealth> Nvml::Health(std::uint32_t index) const {
  const Functions& f = *functions_;
  const Result<nvml::Device> device = f.DeviceOf(index);
  if (!device.ok()) return device.status();
  // A lost GPU may still have a handle; asked for its memory it says so.
  const Result<NvmlUse> use = Use(index);
  if (!use.ok() && use.status().reason() == kGpuIsLost) return use.status();
  NvmlHealth health;
  health.ecc = {
      f.Errors(*device, nvml::kCorrected, nvml::kVolatile), f.Errors(*device, nvml::kUncorrected, nvml::kVolatile),
      f.Errors(*device, nvml::kCorrected, nvml::kAggregate), f.Errors(*device, nvml::kUncorrected, nvml::kAggregate)};
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (f.rows != nullptr && f.rows(*device, &corrected, &uncorrected, &pending, &failed) == nvml::kSuccess) {
    health.rows = NvmlRows{corrected, uncorrected, pending != 0, failed != 0};
  }
  int flag = 0;
  if (f.retired_pending != nullptr && f.retired_pending(*device, &flag) == nvml::kSuccess) {
    health.retired_pages_pending = flag == 1;
  }
  health.links = f.LinksOf(*device);
  unsigned long long reasons = 0;
  if (f.throttle != nullptr && f.throttle(*device, &reasons) == nvml::kSuccess) health.throttle_reasons = reasons;
  health.sm_mhz = f.Clock(f.clock, *device, nvml::kClockSm);
  health.sm_max_mhz = f.Clock(f.max_clock, *device, nvml::kClockSm);
  health.memory_mhz = f.Clock(f.clock, *device, nvml::kClockMemory);
  health.memory_max_mhz = f.Clock(f.max_clock, *device, nvml::kClockMemory);
  health.pcie_generation = f.Number(f.generation, *device);
  health.pcie_max_generation = f.Number(f.max_generation, *device);
  health.pcie_width = f.Number(f.width, *device);
  health.pcie_max_width = f.Number(f.max_width, *device);
  health.pcie_replays = f.Number(f.replays, *device);
  nvml::Utilization busy{};
  if (f.utilization != nullptr && f.utilization(*device, &busy) == nvml::kSuccess) {
    health.gpu_percent = busy.gpu;
    health.memory_percent = busy.memory;
  }
  unsigned celsius = 0;
  if (f.temperature != nullptr && f.temperature(*device, 0, &celsius) == nvml::kSuccess) health.celsius = celsius;
  return health;
}

}  // namespace glim::nodeagent
