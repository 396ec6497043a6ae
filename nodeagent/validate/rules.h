// What is measured, in which unit, and how far below the expected value a reading may be. Constants.
//
// The fleet's median is the measure, not an absolute number (Fire-Flyer AI-HPC, arXiv 2408.14158, section VII-B). Which
// nodes are compared with each other is the operator's choice: a baseline is made of readings of equal nodes.
#pragma once

#include <string_view>

namespace glim::validate {

struct Rule {
  std::string_view part;
  std::string_view what;
  std::string_view unit;
  bool more_is_better = true;
  double ratio_min = 0;      // below this ratio it fails; 0: the value is told and not judged
  bool among_peers = false;  // without a baseline the node's own readings of this kind are the measure
};

inline constexpr Rule kRules[] = {
    // A hardware thread's time for a piece of work with a known answer.
    {"cpu", "piece", "ms", false, 0.7, true},
    // All threads of a NUMA node copy; patterns tell how much was written and read back.
    {"memory", "copy", "GB/s", true, 0.7, true},
    {"memory", "patterns", "MB", true, 0, false},
    // Folders lie on different disks, so they are no measure for each other.
    {"disk", "write", "MB/s", true, 0.5, false},
    {"disk", "read", "MB/s", true, 0.5, false},
    {"disk", "fsync", "ms", false, 0.3, false},
    // One direction of a pair of nodes.
    {"network", "stream", "MB/s", true, 0.5, true},
    {"network", "latency", "us", false, 0.3, true},
    {"network", "loopback", "MB/s", true, 0.5, false},
    {"numa", "local", "GB/s", true, 0.7, true},
    {"numa", "remote", "GB/s", true, 0.5, true},
    // Processes of one node over shared memory.
    {"allreduce", "sum", "GB/s", true, 0.5, false},
    // GPUs of one node are alike, and so are their units; what leads to them differs more.
    {"gpu", "patterns", "MB", true, 0, false},
    {"gpu", "write", "GB/s", true, 0.85, true},
    {"gpu", "read", "GB/s", true, 0.85, true},
    {"gpu", "multiply", "TFLOP/s", true, 0.85, true},
    {"gpu", "tensor", "TFLOP/s", true, 0.85, true},
    {"gpu", "to_device", "GB/s", true, 0.7, true},
    {"gpu", "to_host", "GB/s", true, 0.7, true},
    // From one to another, by what is between them.
    {"gpu", "peer_nvlink", "GB/s", true, 0.7, true},
    {"gpu", "peer_pci", "GB/s", true, 0.7, true},
    {"gpu", "peer_by_host", "GB/s", true, 0.5, true},
    // What the link could carry now: it sinks when the GPU has nothing to do.
    {"gpu", "link", "GB/s", true, 0, false},
};

// Null: nothing of that name is measured.
constexpr const Rule* RuleOf(std::string_view part, std::string_view what) {
  for (const Rule& rule : kRules) {
    if (rule.part == part && rule.what == what) return &rule;
  }
  return nullptr;
}

}  // namespace glim::validate
