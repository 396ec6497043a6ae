// What of the node this process may use: CPUs, NUMA nodes, memory. Stateless functions, any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace glim::validate {

struct NumaNode {
  int number = 0;
  std::vector<int> cpus;  // that this process may use, ascending; may be empty
};

std::vector<int> AllowedCpus();
// Those of the kernel that have memory; one with all CPUs where it tells of none.
std::vector<NumaNode> NumaNodesHere();
// The calling thread runs on this CPU alone from now on. False: it may not.
bool PinTo(int cpu);
// What may be taken now: what the kernel calls available, and at most half of what the control group still allows.
std::int64_t MemoryForUs();

}  // namespace glim::validate
