// The planning pass. Pure: reads the state, decides, changes nothing.
//
//   1. order      class; jobs that left for a successor that went away; first submission; id
//   2. quota      a subject's nodes by class against its quota; beyond it a gang is borrowed: it takes only what is free
//   3. place      free nodes: one leaf, else fewest leaves, one zone; GPU type, NVLink, NIC as asked; suspect nodes last
//   4. cross      two zones over a free link, for jobs large enough (or larger than a zone)
//   5. interrupt  lower classes, borrowed first, least debt, past their min_run: an atomic gang swap of victims and
//                 claims. Nodes that are being emptied anyway, and claims of lower classes, come before new victims
//   6. reserve    a job that has waited reserve_after keeps the free nodes of its best zone from those behind it
//   7. explain    every shape that still waits gets its blockers, with amounts
//
// Jobs of one shape share one verdict: the pass costs shapes and starts, not the length of the queue.
#pragma once

#include "scheduler/core/cluster_state.h"
#include "scheduler/core/plan.h"
#include "scheduler/core/policy.h"

namespace glim::core {

Plan MakePlan(const ClusterState& state, const Policy& policy, TimePoint now);

}  // namespace glim::core
