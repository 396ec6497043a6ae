// The life of a node, as the scheduler sees it.
//
//               stream ends, or nothing heard        node_lost_after
//   READY <---------------------------------> SILENT ---------------> LOST
//     ^    heard again                                                  |
//     |                                                                 | heard again: what was written off is
//     +-----------------------------------------------------------------+ stopped first, then it is used
//     |
//     +--- stop order unanswered for kill_after_term + release_max (quarantine.h), or
//          fewer GPUs than labelled (node_labels.h) ---> QUARANTINED ---> READY (operator, once empty, or by
//          itself when a task alone was the matter, and has gone)
//
// A node whose agent speaks another protocol is REFUSED (node_refused.h): neither silent nor lost.
// More than outage_percent of the nodes (and at least two) silent at once is an outage (silence.h).
#pragma once

#include <span>

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/event.h"

namespace glim::core {

void ApplyConnected(Changes& changes, const NodeConnected& event);
void ApplyDisconnected(Changes& changes, const NodeDisconnected& event);
void ApplyReported(Changes& changes, const NodeReported& event);
// Several at once: what they say together decides, and each attempt is looked at once.
void ApplyReports(Changes& changes, std::span<const Event> reports);
void ApplyReturn(Changes& changes, const ReturnNode& event);

}  // namespace glim::core
