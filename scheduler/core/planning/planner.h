// The planning pass. Pure: reads the state, decides, changes nothing.
//
//   1. order      class; the starved; jobs that left for a preemptor that went away; the team's share; the score:
//                 who is likely to end soonest for what it costs (job_order.h, service_history.h); first submission; id
//   2. quota      of user, team and pool by class (quota_use.h); beyond it a gang is borrowed: it takes what is free
//   3. place      free nodes: one leaf, else fewest leaves, one zone; GPU type, NVLink, NIC as asked; suspect nodes
//                 last (placement.h), reserved ones behind others or not at all (reserved.h)
//   4. cross      two zones over a free link, for jobs large enough (or larger than a zone)
//   5. interrupt  lower classes past their min_run; the own class past its quantum, if it is preempted; borrowed first,
//                 least preemption cost: an atomic gang preemption of victims and claims. Nodes that are being emptied
//                 anyway, and claims of lower classes, come before new victims (victims.h, gang_preemption.h)
//   6. move       where enough is free, but not together, or a link is taken: one running job past its quantum leaves
//                 and goes on elsewhere, if its preemption cost is small beside what that buys; its place is kept
//                 (move.h)
//   7. hold back  a job that gets the rest as soon as protections end keeps what is free (a backfill hold); a job that
//                 ends before that may use it
//   8. explain    every shape that still waits gets its blockers, with amounts (explain.h)
//
// Jobs of one shape share one verdict: the pass costs shapes and starts, not the length of the queue.
#pragma once

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/plan.h"
#include "scheduler/core/model/policy.h"
#include "scheduler/core/planning/pass_trace.h"

namespace glim::core {

Plan MakePlan(const ClusterState& state, const Policy& policy, TimePoint now);

// A pass that started something may have made others possible, or requeued whom it displaced: so often is looked once
// more at one time, by Decide (core.h) and by trials (advice/what_if.h) alike.
inline constexpr int kPassesMax = 8;

// The same without the sums and the earlier answers that refuse most of a queue unseen: for tests of these. Slow.
Plan MakePlanAskingEverybody(const ClusterState& state, const Policy& policy, TimePoint now);

// The same plan, and what was tried on the way for the trace's job. It is asked itself, whatever others were told.
Plan MakePlanTracing(const ClusterState& state, const Policy& policy, TimePoint now, PassTrace* trace);

}  // namespace glim::core
