// What is in every node: memory modules, the PCIe links of cards, processors. Pure; times are in milliseconds since the
// boot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "nodeagent/health/finding.h"

namespace glim::nodeagent::health {

// Corrected errors of a module that come within so long of the last event are one event more.
inline constexpr std::int64_t kCorrectedPauseMs = 600'000;

struct ModuleReading {
  std::string name;   // mc0/dimm0
  std::string label;  // of the board; may be empty
  std::optional<std::int64_t> corrected, uncorrected;
};
// Events memory_ecc_corrected and memory_ecc_uncorrected.
Looks LookAtModule(const ModuleReading& module, std::int64_t now_ms, Memory& memory);

struct PcieLink {
  std::int64_t speed = 0;  // in MT/s; 0: unknown
  std::int64_t width = 0;  // lanes; 0: unknown
};
struct CardReading {
  std::string address;
  bool gpu = false;
  PcieLink now;
  PcieLink most;  // of the card
  PcieLink slot;  // the most of the bridge above it
};
// The condition pcie_slow, when two looks in a row say so. The most that card and slot have in common is expected: a
// card in an older slot is not at fault. A GPU lowers its speed, not its width, while it has nothing to do.
Looks LookAtCard(const CardReading& card, Memory& memory);
// "16.0 GT/s PCIe" in MT/s; 0: unknown.
std::int64_t PcieSpeedOf(std::string_view text);

// A package that the hardware slows down so often between two looks, a minute apart, twice in a row.
inline constexpr std::int64_t kThrottlesAllowed = 60;

struct PackageReading {
  std::string name;  // package0
  std::int64_t throttles = 0;
};
// The condition cpu_throttled.
Looks LookAtPackage(const PackageReading& package, Memory& memory);

}  // namespace glim::nodeagent::health
