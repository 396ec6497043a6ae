// Who comes first inside a class: the recipe's step 1, below the class itself.
//
//   share   the team's decayed service over its weight, in doublings: whoever had less comes first
//   user    the user's decayed service against the mean of the team's users, in doublings; of teams that have a name
//   score   the job's expected time to an end, in 1024ths of doublings: size and age over the Gittins index
//           (service_history.h). A job that waits is charged the cost of starting it, one that runs is not
//
// Pure functions of rows, policy and time.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/policy.h"

namespace glim::core {

// Lower comes first: by share, then user_share, then score.
struct Urgency {
  std::int32_t share = 0;
  std::int64_t score = 0;
  std::int32_t user_share = 0;
  friend bool operator==(const Urgency&, const Urgency&) = default;
  friend std::strong_ordering operator<=>(const Urgency& a, const Urgency& b) {
    return std::tie(a.share, a.user_share, a.score) <=> std::tie(b.share, b.user_share, b.score);
  }
};

// `decayed_gpu_ms`: of the whole team, live attempts included. `weight`: the team's.
std::int32_t ShareOf(std::uint32_t weight, std::int64_t decayed_gpu_ms);
// Of one user inside a team: how many doublings more than the mean of its `users` they have had. Compared with the
// mean, so that one order holds over all teams.
std::int32_t UserShareOf(std::int64_t user_gpu_ms, std::int64_t team_gpu_ms, std::size_t users);

std::int64_t ScoreOfWaiting(const ClusterState& state, const Policy& policy, const Kind& kind, Duration service);
std::int64_t ScoreOfRunning(const ClusterState& state, const Policy& policy, const Kind& kind, Duration service);

// Does a running one give way to a waiting one of its class? To one of a team with a share of fewer doublings, and
// among equals to one whose score is better by preempt_gain: what is nearly alike is left alone. An order: whoever
// comes earlier preempts all that a later one does, and three teams never preempt each other in a circle.
bool IsPreemptedBy(std::int64_t preempt_gain, const Urgency& running, const Urgency& waiting);
// What that takes of the policy: preempt_gain in the scores' unit.
std::int64_t PreemptGain(const Policy& policy);

// How long its class leaves an attempt alone that starts now. Doubled by each interrupt that lost more than a quantum,
// up to a day, so that a job that never saves ends all the same (interrupt_terms.h).
Duration QuantumOf(const ClusterState& state, const Policy& policy, const Job& job, bool starved);

// What `why` promises a queued job: it does not wait longer than that from queued_at, unless a higher class takes all.
//   starvation_bound + quantum_max + 2 x (node-milliseconds of the quanta of those that wait longer) / nodes
// The first term makes it starved; the second lets what is protected end; the third serves the starved before it, whose
// gangs leave at most half of the nodes idle while they are gathered. Doubled quanta of its pool and class count in the
// second and in the third, and no quantum counts as less than the longest min_run. The nodes are those of the pool's
// largest zone: a gang is gathered in one, or holds the link that others wait for.
Duration PromisedWait(const ClusterState& state, const Policy& policy, const Job& job);

}  // namespace glim::core
