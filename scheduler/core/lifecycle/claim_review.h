// Who waits for nodes that they may not have any more: the registry, the policy or what a node's agent says of whose
// jobs it runs has changed since they were chosen.
#pragma once

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// Their claims are dropped and their jobs wait again. What has its nodes runs on.
void ReviewClaims(Changes& changes);

}  // namespace glim::core
