// What `glim why` promises jobs that wait, held against how long they wait.
//
// "At the latest, unless higher classes take everything": the promise is the time after which a job comes first in its
// class (starvation_bound), and then what those are left who run or come before it (PromisedWait). Of each shape the
// job is watched that has waited longest, once it has starved. Its time begins again when something happens that the
// promise excepts:
//
//   - a job of a higher class waits in its pool, or has nodes of it
//   - nothing is promised: too few nodes take jobs, it is beyond a quota, waits for a save or for other jobs
//   - a node of its pool takes no jobs, or is kept for others by a reservation
//   - it is in backoff, or held
//
// The grace and the stop of who must leave come on top: the promise leaves them out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/policy.h"

namespace glim::sim {

class PromiseTruth {
 public:
  explicit PromiseTruth(std::function<void(const std::string&)> violation) : violation_(std::move(violation)) {}

  // Every few seconds. `is_calm`: nothing happens that holds up every job, as a scheduler that is away.
  void Look(const core::ClusterState& state, const core::Policy& policy, bool is_calm, TimePoint now);

  // Jobs that were started after they had starved, within what they were promised.
  std::uint64_t kept() const { return kept_; }

 private:
  struct Wait {
    TimePoint began;
    TimePoint calm_since;  // nothing that the promise excepts has happened since then
    Duration promised;     // counted from there; the longest that was told since
  };

  const std::function<void(const std::string&)> violation_;
  std::map<core::JobId, Wait> waits_;
  std::uint64_t kept_ = 0;
};

}  // namespace glim::sim
