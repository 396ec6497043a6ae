// What the world's machines found in their hardware, held against what the scheduler did about it. The world says which
// findings take a node out; of the scheduler only commits, replies and whether a node is cordoned count.
//
//   - a node with such a finding, once the scheduler has heard of it, is cordoned until an operator gives it back
//   - a node that failed more attempts than the policy bears, mere losses aside, is cordoned likewise; one that failed
//     none is no lemon
//   - each finding is noted once at most, takes its node out once at most, and ends one attempt at most: whoever tells
//     it again, to whichever scheduler
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/event.h"
#include "scheduler/core/model/policy.h"
#include "scheduler/core/model/transition.h"

namespace glim::sim {

// A mark in the text of a finding, by which it is known again: "[h3.boot-1.17]".
std::string MarkOf(core::NodeId node, const std::string& boot, std::uint64_t seq);

class HealthTruth {
 public:
  explicit HealthTruth(std::function<void(const std::string&)> violation) : violation_(std::move(violation)) {}

  // Findings with this code, of check xid, take a node out.
  static bool TakesOut(const std::string& check, std::int64_t code);

  // A commit was taken, in the order of its mutations.
  void Committed(const std::vector<core::Mutation>& mutations);
  // An event of a batch that was committed, in order, with its answer.
  void Answered(const core::Event& event, const core::Reply& reply, const core::ClusterState& state);
  // After each batch.
  void Check(const core::ClusterState& state, const core::Policy& policy);

 private:
  void Hear(const core::NodeReported& report);
  void SeeNote(const core::HistoryEntry& note);
  void SeeFailures(const core::Node& node, const core::LemonPolicy& policy);

  const std::function<void(const std::string&)> violation_;
  std::map<core::NodeId, std::uint64_t> sessions_;  // of the streams that this leader listens to
  std::set<std::tuple<core::NodeId, std::string, std::uint64_t>> heard_;
  std::set<core::NodeId> out_;
  std::map<core::NodeId, TimePoint> failed_;  // the newest failure of a node that was looked at
  std::set<std::string> noted_, took_out_;
  std::map<std::string, core::AttemptId> ended_;
};

}  // namespace glim::sim
