// GPUs, as their driver tells of them. Pure; times are in milliseconds since the boot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nodeagent/health/finding.h"

namespace glim::nodeagent::health {

inline constexpr std::int64_t kGpuCorrectedPauseMs = 600'000;
inline constexpr std::int64_t kThrottledMsMost = 60'000;
inline constexpr std::int64_t kBusyPercent = 50;  // a GPU with so much to do does not lower its PCIe link

struct GpuReading {
  std::string pci;  // 0000:3b:00.0
  bool lost = false;
  bool unread = false;                                 // it is there, and cannot be asked: the rest says nothing
  std::optional<std::int64_t> corrected, uncorrected;  // ECC errors since the driver was loaded
  bool remap_failed = false;
  bool reset_pending = false;  // rows or pages wait for a reset
  struct Link {
    std::uint32_t number = 0;
    bool active = false;
  };
  std::vector<Link> links;  // NVLink
  bool throttled = false;   // by the hardware: heat, power brake, slowdown
  std::string throttled_by;
  std::int64_t width = 0, most_width = 0;            // PCIe; 0: unknown
  std::int64_t generation = 0, most_generation = 0;  // likewise
  std::int64_t busy_percent = 0;
};

// Events gpu_ecc_corrected and gpu_ecc_uncorrected; conditions gpu_lost, gpu_row_remap_failed,
// gpu_retired_pages_pending, nvlink_down, gpu_throttled, pcie_slow. `all`: those that answer; one that did since the
// boot and is not among them is lost.
Looks LookAtGpus(const std::vector<GpuReading>& all, std::int64_t now_ms, Memory& memory);

}  // namespace glim::nodeagent::health
