// Plan: what one planning pass decided. Pure data; applying it checks it again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/model/cluster_state.h"

namespace glim::core {

struct PlannedStart {
  JobId job;
  PriorityClass charged = PriorityClass::kNormal;
  bool borrowed = false;
  Duration quantum;                  // its class leaves it alone for that long
  std::vector<NodeId> nodes;         // by node rank
  std::vector<AttemptId> victims;    // to be interrupted; they hold some of the nodes
  AttemptId moved;                   // of the victims: who has room elsewhere; none: nobody is moved
  std::vector<AttemptId> displaced;  // claimed attempts of a lower class that lose their claims to it
  friend bool operator==(const PlannedStart&, const PlannedStart&) = default;
};

// Who must be gone when a reservation begins, or is in force: an attempt is asked to leave; one that only has claims
// loses them.
struct ReservedLeave {
  AttemptId attempt;
  std::string reservation;
  friend bool operator==(const ReservedLeave&, const ReservedLeave&) = default;
};

struct Plan {
  std::vector<PlannedStart> starts;  // in the order in which they were decided
  // Live attempts whose standing is not what their rows say: beyond their quota now (true), or within it again.
  std::vector<std::pair<AttemptId, bool>> borrowed;
  std::vector<std::pair<std::string, std::vector<NodeId>>> reserved;  // by name: nodes that are not as its row says
  std::vector<ReservedLeave> leaves;
  std::shared_ptr<const Verdicts> verdicts;  // a blocker for every shape that still waits
  TimePoint look_again;                      // when a blocker of time ends; 0: only events can help
};

}  // namespace glim::core
