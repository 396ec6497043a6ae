// A node whose agent cannot be spoken with: it knocks, and is refused for its protocol's version or its clock.
//
//   SILENT, LOST --its agent is refused--> REFUSED --its agent, mended, is let in--> READY
//                                             |  it knocks no more: SILENT, then LOST, as any other
//
// What runs there runs on. The node is no loss and counts in no outage; nothing is placed there.
#pragma once

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/event.h"

namespace glim::core {

void ApplyRefused(Changes& changes, const NodeRefused& event);

}  // namespace glim::core
