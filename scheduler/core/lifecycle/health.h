// What a node's agent tells of its hardware: kept in the node's row, noted, judged by the policy's rows
// (model/health_rules.h), and acted upon (health_act.h).
//
// An event happened once, and is told again and again: its number within a boot of the machine says whether it was
// taken in before, by whichever scheduler, from whichever agent. A condition is so as long as it is told; it is acted
// upon when it begins, and when the policy comes to say more of it. A node that an operator gives back stays back until
// something new is told.
//
// Floods are bounded. Of the same finding on the same device a minute has one entry and one note, and one more for each
// stronger verdict; of all together no more than kHealthEventsKept, and then what comes is counted with the newest.
// Each event is judged all the same.
#pragma once

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/event.h"

namespace glim::core {

// A report without `health_boot` says nothing of health: what is known stays.
void SeeHealth(Changes& changes, const NodeReported& told);

// An operator returns the node: conditions count as over until they are told again.
void ForgetConditions(Changes& changes, NodeId node);

}  // namespace glim::core
