// What ranks have really done, held against what the scheduler says of it. All times are the world's own.
//
//   - who is called succeeded has done all its steps
//   - a job's newest save was written by all who write a shard of it
//   - the steps that are told as lost were done, and are all that were heard of and are not saved
//   - who leaves by itself again and again, and saves nothing, is not started all the time
//   - no job is given nodes and loses them again and again in one batch
//   - who is stopped for standing still has stood still for as long as it may
//   - where a rank has left, the others do not wait for it for ever
//   - who stands still, and whose nodes are heard all the time, is noticed; whoever leaves its GPUs idle for as long as
//     the policy says is suspended, and nobody else is warned of it
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/policy.h"
#include "scheduler/core/model/transition.h"
#include "scheduler/sim/world/sim_run.h"
#include "scheduler/sim/world/streams.h"

namespace glim::sim {

class WorkTruth {
 public:
  using Runs = std::map<core::AttemptId, std::shared_ptr<SimRun>>;
  WorkTruth(std::function<void(const std::string&)> violation, const Runs& runs)
      : violation_(std::move(violation)), runs_(runs) {}

  void Committed(const std::vector<core::Mutation>& mutations, const core::Policy& policy, TimePoint now);
  // As in Truth.
  void LeaveOut(core::AttemptId attempt) { left_out_.insert(attempt); }
  // `calm_since`: this leader has been at work since then.
  void CheckStanding(const core::ClusterState& state, const Streams& streams, const core::Policy& policy,
                     TimePoint calm_since, TimePoint now);

 private:
  struct Seen {
    bool ended = false;
    bool hung = false;     // it was stopped for that
    TimePoint asked_last;  // when it was seen with an open agreement last, or not simply running
  };

  void CheckClaims(const std::vector<core::Mutation>& mutations);
  void See(const core::Attempt& row, const core::Policy& policy, TimePoint now);
  void SeeSave(const core::Job& row);
  void SeeEnd(const core::Attempt& row, const core::Policy& policy, TimePoint now);
  void SeeSteps(const core::Attempt& row, const SimRun* run);
  void SeeYield(const core::Attempt& row, const core::Policy& policy, TimePoint now);
  void SeeIdle(core::AttemptId id, const core::Policy& policy, TimePoint now);
  void SeeHang(const core::Attempt& row, const core::Policy& policy, TimePoint now);
  void Say(core::AttemptId attempt, const std::string& what) {
    if (!left_out_.contains(attempt)) violation_("attempt " + ToString(attempt) + ": " + what);
  }

  const std::function<void(const std::string&)> violation_;
  const Runs& runs_;
  std::set<core::AttemptId> left_out_;
  std::map<core::AttemptId, Seen> seen_;
  std::map<core::JobId, std::deque<TimePoint>> idle_yields_;
};

}  // namespace glim::sim
