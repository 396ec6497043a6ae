// How an attempt begins: a node is given on task by task, and the last one starts the gang.
#pragma once

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// All nodes are held: makes the tasks and launches them.
void BeginStart(Changes& changes, AttemptId attempt);

// Takes the node from its holder and gives it to its claimant, if there is one.
void ReleaseNode(Changes& changes, NodeId node);

}  // namespace glim::core
