// An operator takes a node out, and gives it back.
//
//   in use --CordonNode--> CORDONED --UncordonNode, or `until`--> in use
//   in use, CORDONED --CordonNode with drain--> DRAINING --no task is there--> DRAINED --as above--> in use
//
// No job starts on a cordoned node: whoever waits for it looks elsewhere. Who runs there stays; a drain asks them to
// save and leave, as whole gangs, and they go on elsewhere, first in their class. Who is still there at the drain's
// deadline is stopped. A cordon is a field of the node's row beside its state: it outlives silence, loss, quarantine,
// new leaders and new agents, and ends with the row.
//
// One that `health` had taken out, or that was found bad, is measured before it takes jobs (validation_need.h); who
// uncordons it once more, while it waits for that, takes it as it is.
//
// A drain is level-triggered: after every event whoever is on a draining node and has not been asked is asked. Costs
// nothing where no drain is under way.
#pragma once

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/event.h"

namespace glim::core {

// INVALID_ARGUMENT of a reason, a time or a deadline that cannot be.
Status CheckCordon(const CordonNode& event);

// Each answers in changes.reply(): `node`; a refusal changes nothing.
void ApplyCordon(Changes& changes, const CordonNode& event);
void ApplyUncordon(Changes& changes, const UncordonNode& event);

// The row that the event would make of this one, once it is checked.
Cordon CordonAfter(const Node& node, const CordonNode& event, TimePoint now);

// Asks who is to leave, stops who has not left in time, and notes what is drained. After every event.
void AdvanceDrains(Changes& changes);

// Cordons whose time is over. Part of ApplyTimePassed.
void EndCordons(Changes& changes);
// When a cordon ends, or a drain's deadline is due; 0: never.
TimePoint NextCordonTimer(const ClusterState& state, const Policy& policy);

}  // namespace glim::core
