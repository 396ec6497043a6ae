// What changes when a node's state does: the jobs on it, those that want it, and those whose saves it has.
#pragma once

#include <string>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

void SetNodeState(Changes& changes, NodeId node, NodeState state, const std::string& message);
// Its stream ended, or nothing is heard of it.
void FallSilent(Changes& changes, NodeId node, const std::string& why);
// Whoever waits for the node, or has it and waits for others, looks elsewhere.
void GiveUpClaims(Changes& changes, NodeId node, const std::string& why);
// Nobody holds on to a node that is not there, or that is no place to run: its holder fails, its claimant looks
// elsewhere.
void Abandon(Changes& changes, NodeId node, const std::string& why, StopCause cause = StopCause::kNodeFailure);

}  // namespace glim::core
