// The time in which a node was not heard is given back to whoever has it. docs/protocols/clocks.md. Pure.
#pragma once

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// The node speaks, `away` after its last word; `returns`: it was silent, or its agent has a new stream. Its holder gets
// the time that was not heard, once for all its nodes: an order that was given meanwhile counts from now.
void GiveTimeAway(Changes& changes, NodeId node, Duration away, bool returns);

}  // namespace glim::core
