// The planning pass. Pure: reads the state, decides, changes nothing.
//
//   1. order      class; the starved; jobs that left for a successor that went away; the team's share; the score: who
//                 is likely to end soonest for what it costs (job_order.h, service_history.h); first submission; id
//   2. quota      of user, team and pool by class (quota_use.h); beyond it a gang is borrowed: it takes what is free
//   3. place      free nodes: one leaf, else fewest leaves, one zone; GPU type, NVLink, NIC as asked; suspect nodes
//                 last (placement.h)
//   4. cross      two zones over a free link, for jobs large enough (or larger than a zone)
//   5. interrupt  lower classes past their min_run; the own class past its quantum, if it gives way; borrowed first,
//                 least debt: an atomic gang swap of victims and claims. Nodes that are being emptied anyway, and
//                 claims of lower classes, come before new victims (victims.h, swap.h)
//   6. move       where enough is free, but not together, or a link is taken: one running job past its quantum leaves
//                 and goes on elsewhere, if its debt is small beside what that buys; its place is kept (move.h)
//   7. reserve    whoever gets the rest as soon as protections end keeps what is free; who ends before that passes
//   8. explain    every shape that still waits gets its blockers, with amounts (planner_explain.h)
//
// Jobs of one shape share one verdict: the pass costs shapes and starts, not the length of the queue.
#pragma once

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/plan.h"
#include "scheduler/core/model/policy.h"

namespace glim::core {

Plan MakePlan(const ClusterState& state, const Policy& policy, TimePoint now);

}  // namespace glim::core
