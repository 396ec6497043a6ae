// What the validator measured of a node, and what is said of it. Values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace glim::validate {

struct Reading {
  std::string part;    // "cpu", "memory", "disk", "network", "numa", "allreduce", "gpu"
  std::string what;    // of the part: "piece", "copy", "write"; rules.h has them all
  std::string device;  // "cpu3", "node0", "/ckpt", "10.0.0.1 -> 10.0.0.2", "gpu0"
  double value = 0;    // in the rule's unit
  std::string wrong;   // why it fails, whatever the value is: a wrong answer; empty: it is right
  std::string note;    // what was seen beside the number
  friend bool operator==(const Reading&, const Reading&) = default;
};

struct Verdict {
  Reading reading;
  std::string unit;
  double expected = 0;  // 0: there is nothing to compare with
  double ratio = 0;     // below 1 is worse than expected, in time and in throughput; 0: there is none
  bool ok = true;
  std::string text;  // one line for people
};

// What the nodes of a fleet have typically, by part and what.
struct Expected {
  double value = 0;
  std::uint32_t nodes = 0;  // of how many nodes
  friend bool operator==(const Expected&, const Expected&) = default;
};
using Baseline = std::map<std::pair<std::string, std::string>, Expected>;

}  // namespace glim::validate
