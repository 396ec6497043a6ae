// Snapshot: the state as of one commit, immutable, for any thread to read without waiting for the strand.
//
// Tables share structure with the strand's own (cow_table.h), so a snapshot costs a few pointers. Rows found in it stay
// valid for as long as the snapshot is held.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/policy.h"

namespace glim::server {

using LivenessMap = std::map<core::NodeId, core::Liveness>;

struct Snapshot {
  core::Tables tables;
  std::shared_ptr<const core::Verdicts> verdicts;   // never null
  std::shared_ptr<const core::Policy> policy;       // never null; what the commit was decided by
  std::shared_ptr<const core::StateCounts> counts;  // never null
  // Never null; of what is told only what is asked is current.
  std::shared_ptr<const core::Probing> probing = std::make_shared<const core::Probing>();
  std::shared_ptr<const LivenessMap> liveness;  // never null; last_heard may be up to a second old
  TimePoint leader_since;                       // nodes that this leader has not heard yet may be heard in a moment
  bool outage = false;
  std::uint64_t epoch = 0;
  std::uint64_t revision = 0;     // commits since this leader began
  TimePoint stale_since;          // the store is away since then, and nothing newer is known; 0: current
  std::string stale_why;          // with stale_since: what the store said, and what to do
  std::int64_t last_pass_us = 0;  // applying and planning of the newest batch that planned
};

using SnapshotPtr = std::shared_ptr<const Snapshot>;

// What the core would decide on, for trials: the rows, and what this leader knows beside them (whom it has heard, since
// when it leads).
core::ClusterState CopyOfState(const Snapshot& snapshot);

}  // namespace glim::server
