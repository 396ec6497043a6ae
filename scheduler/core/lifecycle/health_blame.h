// Why a program failed that did not fail by itself: hardware that its ranks were on, a node that has gone, its limit of
// memory, or the network between its nodes.
#pragma once

#include <string>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

struct FailureCause {
  Outcome outcome = Outcome::kNone;  // kNone: it failed by itself
  NodeId node;                       // where it was; none: nobody's
  std::string why;                   // for people
  std::string device{};              // of hardware: which; empty: the node
};

// Of an attempt that failed by an exit. Hardware: the first that was found on one of its nodes, by a row that names an
// outcome, since the attempt began and within HealthPolicy::blame_window before it was stopped; an agent may tell of a
// failed rank seconds before it tells of that, so what was found after the stop counts as well. Else a node that was
// lost: the attempt has waited for that. Else memory: a task of it met its limit. Else the network (lost_contact.h).
FailureCause CauseOfFailure(const ClusterState& state, const Policy& policy, const Attempt& attempt, TimePoint now);

// The node is left out for a while, unless it is anyway.
void LeaveOut(Changes& changes, NodeId node, const std::string& why);

}  // namespace glim::core
