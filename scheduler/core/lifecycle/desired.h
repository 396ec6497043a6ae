// What a node should be running.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/core/model/cluster_state.h"

namespace glim::core {

struct DesiredTask {
  TaskId id;
  bool launch = false;       // the agent has not reported it yet
  const Job* job = nullptr;  // valid as long as the tables it was made from
  const Attempt* attempt = nullptr;
  bool interrupt = false;  // the attempt's last agreement is in force (or withdrawn, see its state)
  bool stop = false;
  std::string stop_reason;
  std::uint32_t evidence = 0;  // the number of the question what its processes do, while that is open; 0: none is
};

// Pure function of the rows.
std::vector<DesiredTask> DesiredFor(const Tables& tables, NodeId node);

}  // namespace glim::core
