// Do all nodes see the same checkpoint root? Each agent reads a marker file in it that the scheduler names, and reports
// what the file holds. What most nodes read is right; of equals, what the node with the lowest id reads. A node that
// reads anything else, or nothing, is given to no job until it does: its saves would be nobody else's.
#pragma once

#include <string>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// The marker file's name in the root of a cluster: ".glim-root-CLUSTER".
std::string RootMarkerName(const std::string& cluster_id);

// What counts as right now; empty: nobody has read a marker.
std::string RightMarker(const ClusterState& state);
// Every node, if what is right is not `before` any more. After each change of a marker.
void JudgeRootsAgain(Changes& changes, const std::string& before);

// The node's agent has come anew: until it has looked, nothing is known. `node` is about to be written.
void ForgetRoot(const Policy& policy, Node& node);

// What the node's agent reports; both empty: it has not looked. Other nodes are judged anew if what is right changes.
void SeeRoot(Changes& changes, NodeId node, const std::string& marker, const std::string& error);

}  // namespace glim::core
