// Who has a link between two zones. One crossing at a time: a link is held from the start of a cross-zone attempt until
// one side of it has been released, that is until all the nodes that it still holds lie in one zone.
//
// Two questions, and two answers. A plan may count on a link whose holder leaves for certain (feasibility.h,
// LeavesItsLink): the new attempt claims what it needs and waits. It begins when the link has been left.
#pragma once

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/layout.h"

namespace glim::core {

// Of an attempt in two zones.
inline Link LinkOf(const Attempt& attempt) { return LinkOf(attempt.zones[0], attempt.zones[1]); }
inline bool Crosses(const Attempt& attempt) { return attempt.zones.size() == 2; }

// Does it talk over no link any more? One that is claimed has not begun to, and keeps what it was promised.
bool HasLeftItsLink(const ClusterState& state, const Attempt& attempt);

// May an attempt that holds all its nodes begin, as far as links go?
bool LinkIsFreeFor(const ClusterState& state, const Attempt& attempt);

}  // namespace glim::core
