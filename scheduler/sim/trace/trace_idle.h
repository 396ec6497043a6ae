// How much of a traced cluster stood idle although somebody could have had it: node-time that was free while a queued
// job passed every gate (quota, dependencies, backoff, links) and as many nodes as it wants were free in one zone.
//
// Free nodes that are kept for a job that comes first are holes of a backfill hold and counted apart. All free nodes of
// such a moment count, not only those that the job would have taken. Only shapes are looked at, not jobs: a look costs
// the free nodes and the shapes that wait. Nodes are taken to be alike, as a trace's are. Single-threaded.
#pragma once

#include <cstdint>

#include "scheduler/core/model/cluster_state.h"

namespace glim::sim {

enum class Idleness : std::uint8_t { kNone, kBackfillHold, kFits };

// Of the moment that `state` describes, right after a planning pass. `free`: nodes, of all zones.
struct IdleNow {
  Idleness idleness = Idleness::kNone;
  std::uint32_t free = 0;
};
IdleNow IdleIn(const core::ClusterState& state);

class IdleMeter {
 public:
  // Books the time since the last look as what was seen then, and looks again; `book_until`: nothing later is booked.
  void Look(const core::ClusterState& state, TimePoint now, TimePoint book_until);

  std::int64_t fit_node_ms() const { return fit_node_ms_; }
  std::int64_t backfill_hold_node_ms() const { return backfill_hold_node_ms_; }

 private:
  TimePoint looked_at_;  // 0: not yet
  IdleNow seen_;
  std::int64_t fit_node_ms_ = 0;
  std::int64_t backfill_hold_node_ms_ = 0;
};

}  // namespace glim::sim
