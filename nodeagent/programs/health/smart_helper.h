// Runs smartctl. The kernel lets only those ask a disk for its health who have CAP_SYS_ADMIN (NVMe) or CAP_SYS_RAWIO
// (ATA, SCSI), and glim-health gives these up. So one more process keeps the two, and does nothing but this: it is told
// the name of a disk, and says what smartctl prints of it. It ends when the one that started it does.
#pragma once

#include <chrono>
#include <string>

#include "nodeagent/programs/health/health_options.h"
#include "sdk/base/result.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent::health {

// glim-health's end. Movable; one thread.
class SmartHelper {
 public:
  // Before the privileges are left, and before any thread. Starts nothing where smartctl is not there or not wanted.
  static SmartHelper Start(const HealthOptions& options);

  // smartctl's document of /dev/DISK. FAILED_PRECONDITION: why there is none. Waits somewhat longer than smartctl may
  // take.
  Result<std::string> Ask(const std::string& disk);

 private:
  UniqueFd socket_;
  std::string why_not_;  // there is no helper
  std::chrono::milliseconds patience_{0};
};

// The helper itself, on its standard input. Its exit status.
int ServeSmart(const HealthOptions& options);

}  // namespace glim::nodeagent::health
