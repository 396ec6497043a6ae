// An operator asks for a node to be measured: whoever has the node stays, nobody else gets it, and it is measured as
// soon as it is free. A node that is cordoned or away is measured when it is back. As for every node that waits to be
// measured, an uncordon of a node that is in use ends the wait.
#pragma once

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/event.h"

namespace glim::core {

// NO_SUCH_NODE, NODE_RESERVED, or `folders[i]`. Asked again, it is measured again, with what was asked for last.
void ApplyValidate(Changes& changes, const ValidateNode& event);

}  // namespace glim::core
