// Step 6 of the recipe: moving one running job so that an asker fits which neither free nodes nor victims can place.
// Enough nodes are free then, but scattered over zones; or a job has the link that fits in one zone by now. The planner
// avoids both by choosing well (placement.h); what is left costs a move.
//
// Who is moved is a victim of an ordinary gang preemption, and knows where it can go on: that place is kept for it
// while it saves and leaves, and it comes first of its class when it is queued again. Its new attempt has a quantum, as
// has the asker's: neither can move or evict the other before that is over. Private to the planner.
#pragma once

#include <optional>
#include <vector>

#include "scheduler/core/planning/pass.h"

namespace glim::core {

struct Move {
  AttemptId moved;
  std::vector<NodeId> nodes;  // the asker's, by node rank; at least one is held by `moved`
};

// The move with the least preemption cost, if that is at most 1 / move_gain of the GPU-time of the asker's quantum.
// Whoever may be moved is of its class or a lower one, past its quantum (of a lower one: its min_run), and has room
// elsewhere; that room is kept in the pass.
// `considered` becomes true if there was anybody to be moved: what was too dear for this asker may not be for another.
std::optional<Move> CheapestMove(Pass& pass, const Asker& asker, const Field& field, Duration quantum,
                                 bool* considered);

// At the beginning of a pass: whoever is on its way since an earlier one finds its place.
void KeepPlaces(Pass& pass);

}  // namespace glim::core
