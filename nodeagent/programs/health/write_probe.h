// How long a small write to a folder takes until it is on the disk. A process of its own writes: one that hangs in the
// kernel is left there, and no other one is sent after it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "nodeagent/health/disk_rules.h"

namespace glim::nodeagent::health {

class WriteProbe {
 public:
  WriteProbe(std::string folder, std::chrono::milliseconds limit);

  // Waits at most `limit`.
  Looks Look();

 private:
  bool IsStuck();

  std::string folder_;
  std::chrono::milliseconds limit_;
  WriteTimes times_;
  pid_t stuck_ = 0;  // killed, and not gone
};

// What the process does (`glim-health --write FOLDER`). Its exit status.
int WriteALittle(const std::string& folder);

}  // namespace glim::nodeagent::health
