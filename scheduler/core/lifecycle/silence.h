// Nodes of which nothing is heard: one is lost after Policy::node_lost_after. So many at once are an outage, in which
// nobody is declared lost, but
//
//   - a whole leaf after Policy::leaf_lost_after, while another leaf is heard: its switch is gone, the scheduler is not
//   - whoever is overdue when an operator resolves the outage by hand
//
// One that other nodes cannot reach either is lost sooner (lifecycle/probes.h).
#pragma once

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/event.h"

namespace glim::core {

// Silence, losses and the outage rule, judged at changes.now().
void JudgeSilence(Changes& changes);
// When they have to be judged again though nothing was heard; 0: no need. Pure.
TimePoint NextSilence(const ClusterState& state, const Policy& policy);
void ApplyResolveOutage(Changes& changes);

}  // namespace glim::core
