// What glim-health remembers from one run to the next, within one boot of the machine: the newest events with their
// numbers, so that none is told under two; how far it has read the kernel's log; what its rules remember. A file that
// is written whole.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nodeagent/health/finding.h"
#include "nodeagent/health/wire/health_line.h"
#include "sdk/base/status.h"

namespace glim::nodeagent::health {

inline constexpr std::size_t kEventsKept = 64;

struct HealthState {
  std::string boot;
  std::optional<std::uint64_t> kernel_seq;  // the last record of the kernel's log that was read
  std::vector<HealthLine> events;           // at most kEventsKept, by their numbers
  std::map<std::string, Memory> memory;     // by source
  friend bool operator==(const HealthState&, const HealthState&) = default;
};

std::string ToText(const HealthState& state);
// As far as it can be understood: what is broken, or of another boot, is an empty state of `boot`.
HealthState ParseHealthState(const std::string& text, const std::string& boot);

HealthState ReadHealthState(const std::string& path, const std::string& boot);
// It survives this program's end; the machine's end makes it worthless anyway.
Status WriteHealthState(const std::string& path, const HealthState& state);

}  // namespace glim::nodeagent::health
