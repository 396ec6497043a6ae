// A node that is taken out of use, and how it comes back.
//
//   READY --a stopped task has not gone--> QUARANTINED --it has gone, and nothing else was wrong--> READY
//   READY --anything else (TakeOutForGood)--> QUARANTINED --an operator returns it--> READY
#pragma once

#include <string>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// A task past its release bound: its node is taken out, with the evidence, and the task is written off.
void Quarantine(Changes& changes, TaskId task);
// Until an operator returns it, whatever it was quarantined for before.
void TakeOutForGood(Changes& changes, NodeId node, const std::string& why);
// The agent, which is heard, says that a written-off task is gone.
void GoneAtLast(Changes& changes, NodeId node, TaskId task);

}  // namespace glim::core
