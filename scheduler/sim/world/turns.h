// Whoever starved comes before all of its class: told from the rows alone, after the fact.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/policy.h"

namespace glim::sim {

// To be called after the passes of a batch at `now`, with the attempts that began in it: others of that moment were
// given what the batch before knew. A job that began to wait later was given free nodes of one zone, while one of its
// class that asks for no more had starved and still waits: a violation.
void CheckTurns(const core::ClusterState& state, const core::Policy& policy, TimePoint now,
                const std::set<core::AttemptId>& begun, const std::function<void(const std::string&)>& violation);

}  // namespace glim::sim
