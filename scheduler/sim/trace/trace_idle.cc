#include "scheduler/sim/trace/trace_idle.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace glim::sim {
namespace {

using core::BlockerKind;

bool Has(const std::vector<core::Blocker>& blockers, BlockerKind kind) {
  return std::any_of(blockers.begin(), blockers.end(), [&](const core::Blocker& b) { return b.kind == kind; });
}

// Of a shape that would fit by count.
Idleness Judge(const core::ClusterState& state, const core::Shape& shape) {
  const auto verdict = state.verdicts->find(shape);
  if (verdict == state.verdicts->end()) return Idleness::kFits;
  if (Has(verdict->second, BlockerKind::kQuota) || Has(verdict->second, BlockerKind::kInfeasible))
    return Idleness::kNone;
  return Has(verdict->second, BlockerKind::kBackfillHold) ? Idleness::kBackfillHold : Idleness::kFits;
}

}  // namespace

IdleNow IdleIn(const core::ClusterState& state) {
  IdleNow now;
  if (state.index().queue.empty()) return now;
  std::map<std::string, std::uint32_t> best_of_pool;
  for (const auto& [pool, free] : state.index().free_nodes) {
    std::map<std::string, std::uint32_t> by_zone;
    for (const core::NodeId id : free) {
      std::uint32_t& best = best_of_pool[pool];
      best = std::max(best, ++by_zone[state.FindNode(id)->labels.zone]);
      ++now.free;
    }
  }
  if (now.free == 0) return now;
  for (const auto& [shape, queue] : state.index().queue) {
    const auto best = best_of_pool.find(shape.pool);
    if (best == best_of_pool.end() || shape.nodes > best->second) continue;
    now.idleness = std::max(now.idleness, Judge(state, shape));
    if (now.idleness == Idleness::kFits) break;
  }
  return now;
}

void IdleMeter::Look(const core::ClusterState& state, TimePoint now, TimePoint book_until) {
  if (looked_at_) {
    const std::int64_t node_ms = seen_.free * (std::min(now, book_until) - std::min(looked_at_, book_until)).ms;
    if (seen_.idleness == Idleness::kFits) fit_node_ms_ += node_ms;
    if (seen_.idleness == Idleness::kBackfillHold) backfill_hold_node_ms_ += node_ms;
  }
  looked_at_ = now;
  seen_ = IdleIn(state);
}

}  // namespace glim::sim
