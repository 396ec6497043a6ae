// Labels of nodes that have an identity: the store's word, which operators give, goes before the agent's own.
//
// The invitation and LabelNode name fields; what they do not name the agent's options say at the node's first
// registration, and are in the store from then on. A node without an identity (plaintext) is as its agent says.
#pragma once

#include <string>

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/event.h"

namespace glim::core {

// What holds of a node whose agent says hello.
struct LabelsInForce {
  NodeLabels labels;
  NodeLabels seen;  // the same, but for GPUs of the store's that are not there: those are a fault
  std::string address;
  // "its agent says pool a, the store says b", of what the agent was told; empty: it says the same.
  std::string differs;
};
// Writes what is said for the first time into the node's identity.
LabelsInForce SettleHello(Changes& changes, const NodeConnected& event);

void ApplyLabel(Changes& changes, const LabelNode& event);

}  // namespace glim::core
