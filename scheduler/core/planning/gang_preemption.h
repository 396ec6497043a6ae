// Steps 3 to 5 and 7 of the recipe for one asker: free nodes, a cross-zone allocation, the cheapest gang preemption, a
// backfill hold. Private to the planner.
#pragma once

#include <optional>
#include <vector>

#include "scheduler/core/planning/gang_choice.h"
#include "scheduler/core/planning/pass.h"

namespace glim::core {

// Among what is free, then among that and what is being emptied anyway; empty if they do not fit.
std::vector<NodeId> PlaceWithoutVictims(const Pass& pass, const JobSpec& spec, const Field& field);

// The cheapest in one zone, else over a link: its holder is among the victims, or the displaced, where the link cannot
// be had otherwise. Nodes that are left out for the job are taken only where the others do not do.
std::optional<GangPreemption> CheapestGangPreemption(Pass& pass, const Asker& asker, const Field& field);

// Has it waited long enough to?
bool MayHoldBack(const Pass& pass, const Asker& asker);

// A job that has what it needs as soon as protections end keeps the free nodes of its best zone (or of two, and the
// link between them), and whom it waits for, from those behind it in the order.
void MaybeHoldBack(Pass& pass, const Asker& asker, const Field& field);

}  // namespace glim::core
