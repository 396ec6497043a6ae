// Planners to compare with, inside the same core: the same events, state machines and figures, another decision.
//
//   fifo      in the order of submission; the first that does not fit blocks those behind it
//   easy      the same with EASY backfilling (Lifka 1995): the blocked head gets the earliest moment at which enough
//             nodes will be free; others pass it if they end before that, or leave it enough. A job ends at its
//             attempt's start + its time limit; one without a limit is taken to run for ever
//   tiresias  two queues by attained GPU-time (Gu et al. 2019, NSDI): below 18,000 GPU-seconds first, first come first
//             served inside a queue, looked at every minute; whoever is not among those that fit is interrupted as
//             soon as its nodes are needed
//
// For measuring: they know neither pools, classes, quotas, zones nor what an interrupt costs, and every node is as good
// as another. Blockers say no more than how many nodes are free.
#pragma once

#include <cstdint>

#include "scheduler/core/core.h"

namespace glim::core {

enum class PlannerKind : std::uint8_t { kTimeSharing, kFifo, kEasy, kTiresias };

// MakePlan itself for kTimeSharing.
PlanFn PlannerOf(PlannerKind kind);

}  // namespace glim::core
