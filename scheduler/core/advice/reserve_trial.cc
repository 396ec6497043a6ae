#include "scheduler/core/advice/reserve_trial.h"

#include <algorithm>
#include <set>
#include <utility>

#include "scheduler/core/planning/reserved.h"

namespace glim::core {

std::vector<AttemptId> OthersOn(ClusterState state, const Policy& policy, Reservation row, TimePoint now) {
  const std::string name = row.name;
  row.begins_at = row.begun_at = now;
  row.ends_at = std::max(row.ends_at, now + Milliseconds(1));
  state.Put(std::move(row));
  const Reserved reserved(state, policy, now);
  std::set<AttemptId> others;
  for (const PassReservation& one : reserved.all()) {
    if (one.row->name != name) continue;
    for (const NodeId id : one.nodes) {
      const AttemptId holder = state.FindNode(id)->holder;
      const Attempt* attempt = state.FindAttempt(holder);
      const bool there = attempt && attempt->state != AttemptState::kClaimed;
      if (there && !IsOf(*one.row, state.FindJob(holder.job)->team)) others.insert(holder);
    }
  }
  return {others.begin(), others.end()};
}

}  // namespace glim::core
