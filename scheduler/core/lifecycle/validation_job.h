// The job that measures one node.
#pragma once

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// What the job runs and asks for, as a user's would.
JobSpec SpecThatMeasures(const Node& node, const ValidatePolicy& policy);

// Makes it and begins with it at once, on a node that MayBeMeasured.
void BeginMeasuring(Changes& changes, NodeId node);

}  // namespace glim::core
