// What it means that a counter of the kernel's is higher than before. Pure; times are in milliseconds since the boot.
//
// The first look at a counter is its beginning: what it counted before is nobody's news. One that is lower than before
// was set back, and begins anew. `key` names the counter in `memory`.
#pragma once

#include <cstdint>
#include <string>

#include "nodeagent/health/finding.h"

namespace glim::nodeagent::health {

// By how much it rose since the last look; 0: it did not.
std::int64_t Rise(Memory& memory, const std::string& key, std::int64_t value);

// The same for a counter that may rise at each look: a rise is told at once, and what comes within `pause_ms` of that
// is summed and told after it.
std::int64_t PacedRise(Memory& memory, const std::string& key, std::int64_t value, std::int64_t now_ms,
                       std::int64_t pause_ms);

struct AllowedRise {
  std::int64_t amount = 0;
  std::int64_t window_ms = 0;
};
// For a counter that rises on sound hardware, too. Windows follow each other; the first look in one at which the rise
// since its beginning is more than `allowed` returns that rise, every other look 0.
std::int64_t TooFast(Memory& memory, const std::string& key, std::int64_t value, std::int64_t now_ms,
                     const AllowedRise& allowed);

}  // namespace glim::nodeagent::health
