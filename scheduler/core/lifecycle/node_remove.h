// An operator takes a node out of the cluster.
#pragma once

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/event.h"

namespace glim::core {

// Its row goes, saves that lie there alone are lost, and its name is anybody's. Refused while an attempt that has not
// ended names it, and, unless the event says otherwise, while its agent is connected.
void ApplyRemove(Changes& changes, const RemoveNode& event);

// The answer about a name that no node has.
Status NoSuchNode(const std::string& name);

}  // namespace glim::core
