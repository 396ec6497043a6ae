// The job that measures one node.
#pragma once

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// What the job runs and asks for, as a user's would. `paired`: it has a second node, and measures first what is between
// the two; the second node only answers.
JobSpec SpecThatMeasures(const Node& node, const ValidatePolicy& policy, bool paired);

// Makes it and begins with it at once, on a node that MayBeMeasured. Where a job stood still the network may be to
// blame: such a node is measured with a partner that nothing is held against, if one is free beside it.
void BeginMeasuring(Changes& changes, NodeId node);

}  // namespace glim::core
