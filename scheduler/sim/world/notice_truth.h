// What machines were told of interrupts and stops, held against what was done to those who run there. All times are the
// world's own: neither the scheduler's nor a machine's clock.
//
//   - who is killed at a deadline was told of the interrupt a grace earlier, on each of its nodes
//   - who has been asked for nothing is not killed at a deadline
//   - a node whose task does not go is taken out, however often its agent comes and goes
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/policy.h"
#include "scheduler/core/model/transition.h"
#include "scheduler/sim/world/streams.h"

namespace glim::sim {

class NoticeTruth {
 public:
  // `is_alive`: the task has ranks that have not ended.
  NoticeTruth(std::function<void(const std::string&)> violation, std::function<bool(core::TaskId)> is_alive,
              const Streams& streams)
      : violation_(std::move(violation)), is_alive_(std::move(is_alive)), streams_(streams) {}

  // The task's agent has taken the order in.
  void Told(core::TaskId task, std::uint32_t agreement, TimePoint now);
  void Committed(const std::vector<core::Mutation>& mutations, TimePoint now);
  // The store went back: of its interrupts nothing is known any more.
  void LeaveOut(core::JobId job) { left_out_.insert(job); }
  // `calm_since`: this leader has been at work since then. `running`: what has processes on the node.
  void CheckStops(const core::ClusterState& state, core::NodeId node, const std::vector<core::TaskId>& running,
                  const core::Policy& policy, TimePoint calm_since, TimePoint now);

 private:
  // `drained`: its node's drain began in this commit.
  void See(const core::Attempt& row, bool drained, TimePoint now);
  void CheckNotice(const core::Attempt& row, TimePoint now);

  const std::function<void(const std::string&)> violation_;
  const std::function<bool(core::TaskId)> is_alive_;
  const Streams& streams_;
  std::map<std::pair<core::TaskId, std::uint32_t>, TimePoint> told_;  // by task and agreement, the first time
  struct Given {
    Duration grace;  // at first; a drain with an earlier deadline shortens it
    TimePoint at;
    TimePoint deadline;  // newest
  };
  std::map<std::pair<core::AttemptId, std::uint32_t>, Given> given_;
  std::set<core::JobId> left_out_;  // also those that an operator gave another class: a new leader grants by that
  std::map<core::AttemptId, TimePoint> stopped_;  // when that was first seen
};

}  // namespace glim::sim
