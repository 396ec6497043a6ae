// NVML, loaded when it is asked for: what a node's GPUs are, who is on them, and how they are.
//
// Every call may hang in the driver for as long as it likes: only programs that somebody else can kill make them
// (glim-inventory, glim-health), never the agent. Not thread-safe. What an older driver's library does not have is told
// in `warnings`, and its values are missing.
//
// Tests run over a library of ours (testing/fake_nvml.h); tests/device/run over a real one, of one GPU so far.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sdk/base/result.h"

namespace glim::nodeagent {

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";
// The reason of a Status of a GPU that was there and does not answer any more.
inline constexpr const char* kGpuIsLost = "GPU_IS_LOST";

struct NvmlGpu {
  std::string uuid;
  std::string name;  // as the driver has it: NVIDIA A100-SXM4-80GB
  std::string pci;   // domain:bus:device.function, lower case, as /sys/bus/pci/devices has it
  std::int64_t memory_bytes = 0;
  bool mig = false;  // MIG mode is on, or will be after a reset
};

struct NvmlProcess {
  std::int64_t pid = 0;
  std::int64_t memory_bytes = -1;  // -1: the driver does not know
};

struct NvmlUse {
  std::int64_t memory_used_bytes = 0;  // of all processes, and what the driver keeps for itself
  std::vector<NvmlProcess> processes;  // compute and graphics, each once
};

// One NVLink of a GPU.
struct NvmlLink {
  std::uint32_t number = 0;
  bool active = false;
  bool to_switch = false;  // else to another GPU
  std::string remote_pci;  // empty: unknown
};

struct NvmlEcc {
  std::optional<std::int64_t> volatile_corrected;  // since the driver was loaded
  std::optional<std::int64_t> volatile_uncorrected;
  std::optional<std::int64_t> aggregate_corrected;  // since the GPU was made
  std::optional<std::int64_t> aggregate_uncorrected;
};

struct NvmlRows {  // remapped for errors: A100 and newer
  std::uint32_t corrected = 0;
  std::uint32_t uncorrected = 0;
  bool pending = false;  // a reset of the GPU carries it out
  bool failed = false;   // there are no spare rows left
};

// Values that this GPU or this driver does not have are missing.
struct NvmlHealth {
  NvmlEcc ecc;
  std::optional<NvmlRows> rows;
  std::optional<bool> retired_pages_pending;      // older than A100
  std::vector<NvmlLink> links;                    // those that the GPU has
  std::optional<std::uint64_t> throttle_reasons;  // bits of nvml_abi.h, kThrottle...
  std::optional<std::uint32_t> sm_mhz, sm_max_mhz, memory_mhz, memory_max_mhz;
  std::optional<std::uint32_t> pcie_generation, pcie_max_generation;  // lower when idle
  std::optional<std::uint32_t> pcie_width, pcie_max_width;
  std::optional<std::uint32_t> pcie_replays;                 // counted
  std::optional<std::uint32_t> gpu_percent, memory_percent;  // of the last second: kernels ran; memory was used
  std::optional<std::uint32_t> celsius;
};

class Nvml {
 public:
  // NOT_FOUND: there is no such library. FAILED_PRECONDITION: it is there and does not work, with its words.
  static Result<std::unique_ptr<Nvml>> Open(const std::string& library = kNvmlLibrary);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // Empty: it does not say.
  std::string DriverVersion() const;
  Result<std::uint32_t> Count() const;
  // Of the GPU with this index, from 0. UNAVAILABLE with reason kGpuIsLost: it is lost, or needs a reset; other
  // failures have the library's words.
  Result<NvmlGpu> Gpu(std::uint32_t index) const;
  Result<NvmlUse> Use(std::uint32_t index) const;
  Result<std::vector<NvmlLink>> Links(std::uint32_t index) const;
  Result<NvmlHealth> Health(std::uint32_t index) const;

  // What this library does not have, and what is not told for that.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  struct Functions;

  Nvml(std::unique_ptr<Functions> functions, std::vector<std::string> warnings);

  std::unique_ptr<Functions> functions_;
  std::vector<std::string> warnings_;
};

}  // namespace glim::nodeagent
