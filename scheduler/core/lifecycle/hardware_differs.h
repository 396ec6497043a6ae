// A node whose labels are not what its agent found (hardware_check.h): it is given to no job (IsUsable) until the two
// agree, or an operator accepts this very difference by labelling the node. What runs there runs on. GPUs of the
// store's that its agent does not even say are a fault, and not this (MissingGpus, node_labels.h).
#pragma once

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// Its agent has said hello: its labels and its inventory are those of now. An agent that tells no inventory contradicts
// nothing. The history has the beginning and the end of a difference, once each.
void CompareHardware(Changes& changes, NodeId node);

// An operator has labelled it. Of a node whose agent has not told this leader its inventory yet, the difference that
// was shown is accepted.
void AcceptHardware(Changes& changes, NodeId node);

}  // namespace glim::core
