// Nodes for a team, or for nobody, from when to when.
//
//   --SetReservation--> PLANNED --begins_at--> IN FORCE --ends_at, or RemoveReservation--> gone
//
// It is a set of named nodes, or a share: so many nodes of a pool, which the planner chooses when it comes near, those
// that cost least to free (planning/reserved.h), and replaces when they go out. While it is in force only jobs of its
// team are on its nodes; of one that is nobody's, none. Who else is there is asked to save and leave, so early that it
// has left when the reservation begins, and goes on elsewhere, first in its class, as with a drain.
//
// The planner says who leaves, pass by pass (Plan::reserved, Plan::leaves): nothing has to be remembered of an
// interrupt that was withdrawn or of a leader that died in between.
#pragma once

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/event.h"

namespace glim::core {

// A refusal is in changes.reply() and changes nothing.
void ApplySetReservation(Changes& changes, const SetReservation& event);
void ApplyRemoveReservation(Changes& changes, const RemoveReservation& event);

// The row that the event makes of `before`, which may be null.
Reservation ReservationAfter(const Reservation* before, const SetReservation& event, TimePoint now);

// Those that are due begin, and end. Before every event: none of them is taken in by the rules of a moment ago.
void TurnReservations(Changes& changes);
// 0: never.
TimePoint NextReservationTurn(const ClusterState& state);

// Some reservation in force keeps this team's jobs off the node.
bool IsKeptFrom(const ClusterState& state, NodeId node, const std::string& team);

// What a plan says of reservations: before its starts.
void ApplyReserved(Changes& changes, const Plan& plan);

}  // namespace glim::core
