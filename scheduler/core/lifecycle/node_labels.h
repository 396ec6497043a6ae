// What a node's agent says of the node's place and hardware, and when that holds.
//
// Labels of a free node hold at once. Those of a node on which a task runs hold from its release on, before the claim
// becomes the holder: whoever planned with the old ones looks again, and a claim that no longer fits is dropped. Fewer
// GPUs than labelled are no label, they are a fault: the node is quarantined, its attempt is a node failure.
#pragma once

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// Takes in what the agent of a node says that is known. Writes nothing: `row` is the caller's to write, and then
// SettleLabels to be called with the row that was before, unless GPUs are missing.
void HearLabels(const ClusterState& state, Node& row, const NodeLabels& seen);
void SettleLabels(Changes& changes, const Node& before);
// Nothing runs there any more: what it was told meanwhile holds now.
void ApplyNextLabels(Changes& changes, NodeId node);
// A claimed attempt has nothing running on the nodes that it has.
bool RunsSomething(const ClusterState& state, const Node& node);
// "gpus 7 of 8", or empty: it has as many as labelled.
std::string MissingGpus(const Node& node);

}  // namespace glim::core
