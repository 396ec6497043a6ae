// What holds after every event. Checked in tests and in the simulation; linear in the state.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/policy.h"

namespace glim::core {

// A sentence for every violation; empty if all is well.
//   - a node has one holder and at most one claimant, both live, both naming the node; a claimant is claimed
//   - the holder of a claimed node is leaving it
//   - nobody waits for a node that is cordoned, or kept away from jobs by its health, and nobody begins there
//   - a gang is whole or not at all: a claimed attempt holds or claims each of its nodes, a started one has a task on
//     each
//   - a job's state agrees with its newest attempt's; no more than one attempt of a job lives
//   - an attempt has at most one open agreement, its last; the agreements of one that is over are over
//   - an attempt goes on from a save of an earlier one, which its job still has
//   - every queued job has a blocker (once a pass has run)
//   - nobody is beyond quota unborrowed, and what is borrowed counts as low (quota_check.h)
//   - while a reservation is in force nobody else begins on its nodes, and who is there leaves (reservation_check.h)
//   - links carry no more jobs that have processes on both sides than they may
//   - every node's ledger sums to the GPU-time that it has been registered for; nothing in a ledger is negative
// Beside it, ClusterState::RebuildIndex() == index() holds; it costs as much as the queue is long.
// `stay`: attempts that crossed a link, or had claimed it, when an operator made it carry fewer jobs: they stay.
std::vector<std::string> CheckInvariants(const ClusterState& state, const Policy& policy, TimePoint now,
                                         const std::set<AttemptId>& stay = {});

}  // namespace glim::core
