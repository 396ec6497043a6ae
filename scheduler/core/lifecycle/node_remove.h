// An operator takes a node out of the cluster.
#pragma once

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/event.h"

namespace glim::core {

// Its row goes, saves that lie there alone are lost, and its name is anybody's. So do its certificate, its invitation
// and its labels, unless another machine was enrolled under the name since. Refused while an attempt that has not ended
// names it, and while its agent is connected. With `connected` it is not: then certificate and labels stay but for the
// number of its GPUs, and the agent registers anew with what it has. Of a node that was invited and never came there is
// an identity alone, which goes.
void ApplyRemove(Changes& changes, const RemoveNode& event);

// The answer about a name that no node has.
Status NoSuchNode(const std::string& name);

}  // namespace glim::core
