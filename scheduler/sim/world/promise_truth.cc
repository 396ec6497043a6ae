#include "scheduler/sim/world/promise_truth.h"

#include <algorithm>

#include "scheduler/core/advice/what_if.h"

namespace glim::sim {
namespace {

constexpr Duration kNoticed = Seconds(20);  // looks, batches, starts and messages take their time

bool IsAbove(const core::Job& job, core::PriorityClass priority) {
  return job.spec->priority == core::PriorityClass::kAuto || job.spec->priority > priority;
}

bool HasHigher(const core::ClusterState& state, const core::Shape& shape) {
  for (const auto& [other, waiting] : state.index().waiting) {
    if (other.pool == shape.pool && IsAbove(*state.FindJob(waiting.begin()->second), shape.priority)) return true;
  }
  const auto live = state.index().live.find(shape.pool);
  if (live == state.index().live.end()) return false;
  return std::any_of(live->second.begin(), live->second.end(),
                     [&](core::AttemptId id) { return IsAbove(*state.FindJob(id.job), shape.priority); });
}

bool TakesJobs(const core::ClusterState& state, core::NodeId id) {
  const core::Node& node = *state.FindNode(id);
  return node.state == core::NodeState::kReady && !node.cordon && state.index().reserved.count(id) == 0;
}

bool AllTakeJobs(const core::ClusterState& state, const std::string& pool) {
  const auto nodes = state.index().nodes_by_pool.find(pool);
  if (nodes == state.index().nodes_by_pool.end()) return false;
  return std::all_of(nodes->second.begin(), nodes->second.end(), [&](core::NodeId id) { return TakesJobs(state, id); });
}

// What those who must leave may take on top of a promise.
Duration LeaveMost(const core::Policy& policy) {
  Duration most = policy.max_grace_cap.others;
  for (const auto& [priority, cap] : policy.max_grace_cap.by_class) most = std::max(most, cap);
  return most + policy.kill_after_term + policy.release_max + kNoticed;
}

// From when it has starved; 0 where nothing is promised now.
Duration PromisedFrom(const core::ClusterState& state, const core::Policy& policy, const core::Job& job,
                      TimePoint now) {
  const TimePoint by = core::OutlookOf(state, policy, job, now).promised_by;
  return by ? by - job.queued_at - policy.starvation_bound : Duration{};
}

}  // namespace

void PromiseTruth::Look(const core::ClusterState& state, const core::Policy& policy, bool is_calm, TimePoint now) {
  std::map<core::JobId, Wait> still;
  for (const auto& [shape, waiting] : state.index().waiting) {
    const auto& [began, id] = *waiting.begin();
    if (!is_calm || now - began < policy.starvation_bound) continue;
    if (HasHigher(state, shape) || !AllTakeJobs(state, shape.pool)) continue;
    const core::Job& job = *state.FindJob(id);
    const Duration promised = PromisedFrom(state, policy, job, now);
    if (promised.ms == 0) continue;
    const auto before = waits_.find(id);
    const bool goes_on = before != waits_.end() && before->second.began == began;
    Wait wait = goes_on ? before->second : Wait{began, now, promised};
    wait.promised = std::max(wait.promised, promised);
    const Duration waited = now - wait.calm_since;
    if (waited > wait.promised + LeaveMost(policy)) {
      violation_("job " + std::to_string(id.value) + " waits for " + std::to_string(waited.ms) +
                 " ms after it starved, and was promised " + std::to_string(wait.promised.ms));
    }
    still.emplace(id, wait);
  }
  for (const auto& [id, wait] : waits_) {
    const core::Job* job = state.FindJob(id);
    if (!still.contains(id) && job && state.LiveAttempt(*job)) ++kept_;
  }
  waits_ = std::move(still);
}

}  // namespace glim::sim
