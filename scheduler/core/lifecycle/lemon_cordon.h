// Nodes that are unreliable beyond what the policy bears are cordoned by health, until an operator gives them back.
#pragma once

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// After every event: level-triggered, so that it does not matter what counted the last failure. Costs nothing where
// there are no lemons. A node that its checks have taken out already has all its failures as the reason from then on.
void TakeOutLemons(Changes& changes);

}  // namespace glim::core
