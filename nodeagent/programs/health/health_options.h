// What glim-health is told on its command line. Plain values.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "sdk/base/result.h"

namespace glim::nodeagent::health {

struct HealthOptions {
  std::string kmsg = "/dev/kmsg";    // the kernel's log; in tests a pipe or a file of its records
  std::string root;                  // of sys/, proc/ and dev/; empty: the machine's
  std::string state;                 // the file in which it remembers
  std::vector<std::string> folders;  // whose room and whose disk are looked at
  std::string nvml;                  // the library; empty: the driver's
  int hurry = 1;                     // so many times as often, for tests
  std::string write;                 // not empty: writes a little there, and ends (write_probe.h)

  std::string smartctl = "smartctl";  // a path, or a name in the system's folders; empty: disks are not asked
  std::chrono::seconds smart_every = std::chrono::hours(24);
  std::string serve;  // "smart": asks disks for the one that started it (smart_helper.h)

  std::chrono::milliseconds Every(std::chrono::milliseconds period) const { return period / hurry; }
  // Of a look; never so short that a busy machine misses it.
  std::chrono::milliseconds Within(std::chrono::milliseconds limit) const {
    return std::max<std::chrono::milliseconds>(limit / hurry, std::min<std::chrono::milliseconds>(limit, kPatience));
  }

  static constexpr std::chrono::seconds kPatience{2};
};

// INVALID_ARGUMENT: what is wrong.
Result<HealthOptions> ParseHealthOptions(int argc, char** argv);

}  // namespace glim::nodeagent::health
