// What a node has for the tasks in its containers, and how a task's limits come of it: no task is without any.
#pragma once

#include <cstdint>
#include <string>

#include "nodeagent/task/task_files.h"
#include "sdk/base/status.h"

namespace glim::nodeagent {

struct NodeAmounts {
  std::int64_t memory_total = 0;
  std::int64_t memory_bytes = 0;  // of that, what a task may have; 0: the kernel does not count memory here
  std::int64_t cpu_millis = 0;
  std::int64_t pids_total = 0;
  std::int64_t pids = 0;  // for a task that asks for none; 0: the kernel does not count processes here
};

// Of this machine. `parent`: the control group above the tasks', absolute; a bound of it, or of one above it, counts.
NodeAmounts AmountsOf(const std::string& parent, std::int64_t reserve_bytes);

// The least that the groups from the root of `tree` down to `parent` allow in their file `name`; 0: nothing is bounded.
std::int64_t LeastBound(const std::string& tree, const std::string& parent, const std::string& name);

// Fills in what the job left out: memory, processes, half of the memory for /dev/shm. INVALID_ARGUMENT where it asks
// for more than there is: that is the job's fault, or jobs could take nodes out by asking for what none has.
Status HoldTo(const NodeAmounts& node, TaskLimits* limits);

}  // namespace glim::nodeagent
