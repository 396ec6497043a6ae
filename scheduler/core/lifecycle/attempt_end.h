// How an attempt ends.
#pragma once

#include <string>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// Every task is released: names the outcome, counts what was lost, and hands over to JobAfterAttempt.
void EndAttempt(Changes& changes, AttemptId attempt);

// The attempt that claims this node gives up all its claims; its job queues again.
void DropClaimOf(Changes& changes, NodeId node, const std::string& why);

}  // namespace glim::core
