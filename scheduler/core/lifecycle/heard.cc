#include "scheduler/core/lifecycle/heard.h"

#include <algorithm>

#include "scheduler/core/lifecycle/agreement_machine.h"
#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/model/save_reach.h"

namespace glim::core {
namespace {

constexpr Duration kReportMost = Seconds(5);

// A simulated world whose nodes are never lost has no heartbeats either: who has a stream is heard.
bool NeedsNoReports(const Policy& policy) { return policy.node_lost_after >= Hours(1000); }

bool IsReady(const ClusterState& state, NodeId id) {
  const Node* node = state.FindNode(id);
  return node && node->state == NodeState::kReady;
}

// A node that was taken out speaks on: only its stream's end says that it does not.
bool Speaks(const ClusterState& state, NodeId id) {
  if (IsReady(state, id)) return true;
  const Node* node = state.FindNode(id);
  const auto live = state.liveness.find(id);
  const bool has_stream = live != state.liveness.end() && live->second.session != 0;
  return node && node->state == NodeState::kQuarantined && has_stream;
}

// What began at `since`, and a node whose last word was heard then: an order that it may not have heard does not count
// at all, another one as long as no report was overdue.
TimePoint UnheardFrom(const Policy& policy, TimePoint since, TimePoint heard) {
  return since >= heard ? since : heard + ReportEvery(policy);
}

// What of the time since then nobody has counted yet: while another node is away, that one's return counts it.
Duration Unheard(const Changes& changes, const Attempt& attempt, NodeId id, Duration away, TimePoint since) {
  TimePoint until = changes.now();
  for (const NodeId other : attempt.nodes) {
    if (other == id || Speaks(changes.state(), other)) continue;
    until = std::min(until, UnheardFrom(changes.policy(), since, HeardAt(changes.state(), other)));
  }
  const TimePoint from = UnheardFrom(changes.policy(), since, changes.now() - away);
  return std::max(Duration{}, until - from);
}

}  // namespace

Duration ReportEvery(const Policy& policy) {
  return std::clamp(policy.node_lost_after / 12, Milliseconds(20), kReportMost);
}

TimePoint HeardAt(const ClusterState& state, NodeId id) {
  const auto live = state.liveness.find(id);
  return std::max(live == state.liveness.end() ? TimePoint{} : live->second.last_heard, state.leader_since);
}

bool IsHeardAt(const ClusterState& state, const Policy& policy, NodeId node, TimePoint due) {
  return Speaks(state, node) && (NeedsNoReports(policy) || HeardAt(state, node) + ReportEvery(policy) >= due);
}

bool AreHeardAt(const ClusterState& state, const Policy& policy, const Attempt& attempt, TimePoint due) {
  return std::all_of(attempt.nodes.begin(), attempt.nodes.end(),
                     [&](NodeId node) { return IsHeardAt(state, policy, node, due); });
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
  if (IsShared(attempt.base)) return since;
  for (const Task* task : TasksOf(state, attempt.id)) since = std::max(since, task->copied_at);
  return since;
}

void GiveTimeAway(Changes& changes, NodeId id, Duration away, bool anew) {
  const Attempt* attempt = changes.state().FindAttempt(changes.node(id).holder);
  if (!attempt || attempt->state == AttemptState::kClaimed || attempt->state == AttemptState::kEnded) return;
  // Half a period more is an agent that is late, and no cut.
  if (!anew && (NeedsNoReports(changes.policy()) || away <= ReportEvery(changes.policy()) * 3 / 2)) return;
  const TimePoint leader = changes.state().leader_since;
  if (attempt->stop != StopCause::kNone) {
    const Duration unheard = Unheard(changes, *attempt, id, away, std::max(attempt->stop_at, leader));
    changes.EditAttempt(attempt->id,
                        [&](Attempt& row) { row.stop_at = std::min(changes.now(), row.stop_at + unheard); });
    return;
  }
  if (attempt->state == AttemptState::kStarting) {
    const TimePoint began = std::max(attempt->started_at, leader);
    const TimePoint moved = StartSince(changes.state(), *attempt) + Unheard(changes, *attempt, id, away, began);
    changes.watch().attempts[attempt->id].last = std::min(changes.now(), moved);
  }
  if (const Agreement* open = attempt->open_agreement()) {
    const TimePoint asked = std::max({open->requested_at, open->agreed_at, leader});
    ExtendAgreement(changes, attempt->id, Unheard(changes, *attempt, id, away, asked));
  }
}

}  // namespace glim::core
