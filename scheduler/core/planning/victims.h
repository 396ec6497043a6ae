// Whom to interrupt, and what it would cost them.
//
// preemption cost = GPUs x (leave + (1 - p) x age + start + restore)
//   leave    what it takes to leave: p x save, or the part of its grace that the job is known to use, if that is more:
//            the successor's nodes wait for it all that time
//   p        the job's observed success at saving when asked; the pool's, until the job has been asked
//   age      since the last durable save, at most the pool's mean checkpoint interval: never saving gives no shelter
//   start    what its last start took until every task was seen running
// The policy's numbers stand in where the pool has shown nothing yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/policy.h"
#include "scheduler/core/planning/placement.h"

namespace glim::core {

// GPU-milliseconds.
std::int64_t PreemptionCostOf(const ClusterState& state, const Policy& policy, const Attempt& attempt, TimePoint now);

// It may not be interrupted before then (extreme_high excepted): its min_run after its start.
TimePoint ProtectedUntil(const ClusterState& state, const Policy& policy, const Attempt& attempt,
                         bool borrowed = false);

// Waiting for its periodic save loses less than interrupting it now: when that save is due, if that is within
// save_wait_max and nearer than the last one. Only of jobs that mostly fail to save when asked, and whose saves come at
// an interval. 0: now is well.
TimePoint SaveDue(const ClusterState& state, const Policy& policy, const Attempt& attempt, TimePoint now);

struct VictimOption {
  AttemptId attempt;
  PriorityClass charged = PriorityClass::kLow;
  bool borrowed = false;
  std::int64_t preemption_cost_gpu_ms = 0;
  std::uint32_t nodes = 0;  // of the candidates, which it holds
};

struct VictimChoice {
  std::vector<AttemptId> victims;
  std::int64_t preemption_cost_gpu_ms = 0;
  PriorityClass highest = PriorityClass::kLow;  // of the classes that are hit
};

// The least that frees `nodes_needed`: lower classes first, borrowed first, least preemption cost; none if all are not
// enough.
std::optional<VictimChoice> ChooseVictims(std::vector<VictimOption> options, std::uint32_t nodes_needed);

}  // namespace glim::core
