#include "scheduler/core/planning/next_turn.h"

#include <algorithm>

namespace glim::core {

TimePoint NextTurnIn(const ClusterState& state, const Policy& policy, TimePoint now, const std::string& pool,
                     const PoolView& view, PriorityClass priority) {
  TimePoint next;
  const auto consider = [&](TimePoint at) {
    if (at > now && (!next || at < next)) next = at;
  };
  const TimePoint soonest = now + policy.replan_interval;
  for (const PassAttempt& a : view.attempts) {
    if (!a.steady || a.gone || a.priority != priority) continue;
    const Duration service = ServiceOf(*a.job, a.row, now);
    const Duration left = BucketBegin(ServiceBucket(service) + std::size_t{1}) - service;
    // It may give way already, and be in its quantum; or come to give way as it grows older.
    if (a.quantum_until > now) consider(std::max(soonest, a.quantum_until));
    consider(std::max({soonest, a.quantum_until, now + left}));
  }
  for (const PriorityClass asked : {priority, PriorityClass::kAuto}) {
    Shape first;  // of that pool and class: no field of it is less
    first.pool = pool;
    first.priority = asked;
    first.nodes = 0;
    for (auto it = state.index().waiting.lower_bound(first); it != state.index().waiting.end(); ++it) {
      if (it->first.pool != pool || it->first.priority != asked) break;
      const TimePoint first_since = it->second.begin()->first;
      if (first_since > now - policy.starvation_bound) {
        consider(first_since + policy.starvation_bound);
        continue;
      }
      const auto not_starved = it->second.lower_bound({now - policy.starvation_bound + Milliseconds(1), JobId{}});
      if (not_starved != it->second.end()) consider(not_starved->first + policy.starvation_bound);
    }
  }
  return next;
}

}  // namespace glim::core
