// GangPreemption: one way to make room for a gang, as a value.
#pragma once

#include <vector>

#include "scheduler/core/planning/victims.h"

namespace glim::core {

// One way to make room.
struct GangPreemption {
  VictimChoice choice;
  std::vector<NodeId> nodes;
  std::vector<AttemptId> displaced;
  bool for_link = false;  // some of them have a link that it needs, whether it needs their nodes or not
};

}  // namespace glim::core
