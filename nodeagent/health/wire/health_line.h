// The lines that glim-health writes to its standard output, and the agent reads: JSON, one object a line. Stateless
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nodeagent/health/finding.h"

namespace glim::nodeagent::health {

// More than any line has.
inline constexpr std::size_t kLineBytesMax = 8192;

struct HealthLine {
  enum class Kind {
    kEvent,
    kCondition,      // it is so from now on, or with another value
    kConditionOver,  // of the same check and device
    kGpus,           // which GPUs computed when they were looked at
    kAlive           // glim-health is there; `complete`: all that it looks at has been looked at or is health_blind
  };
  Kind kind = Kind::kAlive;
  Finding finding;
  std::uint64_t seq = 0;  // of an event: it grows within a boot of the machine
  std::string boot;
  bool complete = false;
  std::vector<GpuUse> gpus{};
  friend bool operator==(const HealthLine&, const HealthLine&) = default;
};

// With the line's end.
std::string ToText(const HealthLine& line);
// Without it. Nothing: it is no such line, or has more than a line may have.
std::optional<HealthLine> ParseHealthLine(std::string_view text);

}  // namespace glim::nodeagent::health
