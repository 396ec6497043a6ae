// What is held against a node. A node that is gone has nothing held against it.
#pragma once

#include <string>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// A start or a restore failed there, or it was lost: it is left out for Policy::suspect_for while others fit.
// `why`: what went wrong, for people.
void Suspect(Changes& changes, NodeId node, const std::string& why);
// What was held against it once turns out to be none of its fault.
void Clear(Changes& changes, NodeId node);
// It was measured and found good: nothing is held against it.
void ClearAll(Changes& changes, NodeId node);

}  // namespace glim::core
