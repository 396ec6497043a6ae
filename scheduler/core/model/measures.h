// What glim-validate measures of a node and compares, by part and kind. The agent's side of it is
// nodeagent/validate/rules.h; tests/sides compares the two.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace glim::core {

inline constexpr std::array<std::string_view, 20> kMeasures = {
    "allreduce.sum",   "cpu.piece",        "disk.fsync",      "disk.read",    "disk.write",
    "gpu.multiply",    "gpu.peer_by_host", "gpu.peer_nvlink", "gpu.peer_pci", "gpu.read",
    "gpu.tensor",      "gpu.to_device",    "gpu.to_host",     "gpu.write",    "memory.copy",
    "network.latency", "network.loopback", "network.stream",  "numa.local",   "numa.remote"};

inline bool IsMeasure(std::string_view name) {
  return std::find(kMeasures.begin(), kMeasures.end(), name) != kMeasures.end();
}

}  // namespace glim::core
