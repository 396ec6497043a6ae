// A process by (pid, start time): a pid alone names nobody for long. Stateless; reads /proc.
#pragma once

#include <cstdint>

namespace glim::hfreduce {

struct ProcessIdentity {
  std::int32_t pid = 0;
  std::uint64_t start_ticks = 0;  // clock ticks since boot
};

ProcessIdentity ThisProcess();
// False once it has ended (a zombie has). Both must be in one pid namespace.
bool IsAlive(const ProcessIdentity& process);

}  // namespace glim::hfreduce
