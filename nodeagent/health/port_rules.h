// Network ports: InfiniBand, RoCE and Ethernet. Pure; times are in milliseconds since the boot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nodeagent/health/counters.h"
#include "nodeagent/health/finding.h"

namespace glim::nodeagent::health {

// A cable of InfiniBand's bit error rate (1e-12, InfiniBand Architecture Specification, volume 2) makes about so many
// symbol errors an hour.
inline constexpr AllowedRise kSymbolErrorsAllowed{120, 3'600'000};
// A link that trains again is slow for that moment; one that does so often is about to fail.
inline constexpr AllowedRise kRecoveriesAllowed{10, 3'600'000};

struct PortReading {
  std::string name;  // mlx5_0/1
  bool active = false;
  std::string state;  // in the kernel's words, of both states: "ACTIVE, LinkUp"
  std::optional<std::int64_t> rate_mbps;
  std::optional<std::int64_t> downed, symbol_errors, recoveries;  // counted since the driver was loaded
};

// Events link_flash and link_errors, conditions link_down and link_slow. A port that has not been active since the boot
// is one that nobody uses.
Looks LookAtPort(const PortReading& port, std::int64_t now_ms, Memory& memory);

struct InterfaceReading {
  std::string name;  // eth0
  bool up = false;
  std::string state;  // the kernel's word
};
// The condition link_down of one that was up since the boot.
Looks LookAtInterface(const InterfaceReading& interface, Memory& memory);

// "200 Gb/sec (4X HDR)" in Mb/s.
std::optional<std::int64_t> RateOf(std::string_view text);

}  // namespace glim::nodeagent::health
