#include "scheduler/core/lifecycle/heard.h"

#include <algorithm>

#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/model/image_name.h"
#include "scheduler/core/model/planted.h"
#include "scheduler/core/model/save_reach.h"

namespace glim::core {
namespace {

constexpr Duration kReportMost = Seconds(5);

bool IsReady(const ClusterState& state, NodeId id) {
  const Node* node = state.FindNode(id);
  return node && node->state == NodeState::kReady;
}

}  // namespace

Duration ReportEvery(const Policy& policy) {
  return std::clamp(policy.node_lost_after / 12, Milliseconds(20), kReportMost);
}

TimePoint HeardAt(const ClusterState& state, NodeId id) {
  const auto live = state.liveness.find(id);
  return std::max(live == state.liveness.end() ? TimePoint{} : live->second.last_heard, state.leader_since);
}

TimePoint SpokeAt(const ClusterState& state, NodeId id) {
  const auto live = state.liveness.find(id);
  if (live == state.liveness.end() || !live->second.refused_since) return HeardAt(state, id);
  if (Planted(PlantedBug::kKnockIsAWord)) return HeardAt(state, id);
  return std::max(live->second.refused_since, state.leader_since);
}

bool NeedsNoReports(const Policy& policy) { return policy.node_lost_after >= Hours(1000); }

bool Speaks(const ClusterState& state, NodeId id) {
  if (IsReady(state, id)) return true;
  const Node* node = state.FindNode(id);
  const auto live = state.liveness.find(id);
  const bool has_stream = live != state.liveness.end() && live->second.session != 0;
  return node && node->state == NodeState::kQuarantined && has_stream;
}

bool IsHeardAt(const ClusterState& state, const Policy& policy, NodeId node, TimePoint due) {
  return Speaks(state, node) && (NeedsNoReports(policy) || HeardAt(state, node) + ReportEvery(policy) >= due);
}

bool IsThere(const ClusterState& state, const Attempt& attempt, NodeId id) {
  const Node* node = state.FindNode(id);
  return node && node->holder == attempt.id;
}

bool AreHeardAt(const ClusterState& state, const Policy& policy, const Attempt& attempt, TimePoint due) {
  return std::all_of(attempt.nodes.begin(), attempt.nodes.end(), [&](NodeId node) {
    return !IsThere(state, attempt, node) || IsHeardAt(state, policy, node, due);
  });
}

TimePoint JudgedAt(const ClusterState& state, const Policy& policy, NodeId node, TimePoint due) {
  if (!Speaks(state, node)) return {};
  if (IsHeardAt(state, policy, node, due)) return due;
  // It has spoken by then, or it is silent. One that was taken out never falls silent: its next word is waited for.
  return IsReady(state, node) ? std::max(due, HeardAt(state, node) + policy.node_lost_after / 4) : TimePoint{};
}

TimePoint JudgedAt(const ClusterState& state, const Policy& policy, const Attempt& attempt, TimePoint due) {
  TimePoint last = due;
  for (const NodeId node : attempt.nodes) {
    if (!IsThere(state, attempt, node)) continue;
    const TimePoint at = JudgedAt(state, policy, node, due);
    if (!at) return {};
    last = std::max(last, at);
  }
  return last;
}

TimePoint StartSince(const ClusterState& state, const Attempt& attempt) {
  TimePoint since = std::max(attempt.started_at, state.leader_since);
  if (const auto watched = state.watch.attempts.find(attempt.id); watched != state.watch.attempts.end()) {
    since = std::max(since, watched->second.last);
  }
  if (IsShared(attempt.base) && !RunsInImage(*state.FindJob(attempt.id.job)->spec)) return since;
  for (const Task* task : TasksOf(state, attempt.id)) since = std::max(since, task->copied_at);
  return since;
}

}  // namespace glim::core
