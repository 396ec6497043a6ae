#include "scheduler/core/time_limit.h"

#include <algorithm>
#include <vector>

#include "scheduler/core/duration_text.h"
#include "scheduler/core/round_machine.h"

namespace glim::core {
namespace {

bool IsHeard(const ClusterState& state, AttemptId id) {
  const std::vector<NodeId>& nodes = state.FindAttempt(id)->nodes;
  return std::all_of(nodes.begin(), nodes.end(),
                     [&](NodeId node) { return state.FindNode(node)->state == NodeState::kReady; });
}

}  // namespace

TimePoint LimitAt(const Job& job, const Attempt& attempt) {
  const Duration limit = job.spec->time_limit;
  const bool runs = attempt.state == AttemptState::kStarting || attempt.state == AttemptState::kRunning;
  if (limit.ms <= 0 || !runs || attempt.stop != StopCause::kNone) return {};
  const Round* round = attempt.open_round();
  if (round && round->time_limit) return {};
  const Duration left = std::max(Duration{}, limit - std::max(Duration{}, job.service));
  return {SaturatingSum(attempt.started_at.ms, left.ms)};
}

bool LimitUsedUp(const Policy& policy, const Job& job) {
  const Duration limit = job.spec->time_limit;
  return policy.enforce_time_limits && limit.ms > 0 && job.service >= limit;
}

bool EndsAtLimit(const Policy& policy, const Job& job, const Attempt& attempt, TimePoint now) {
  const Round* round = attempt.open_round();
  if (round && round->time_limit) return true;
  const Duration limit = job.spec->time_limit;
  if (!policy.enforce_time_limits || limit.ms <= 0 || !attempt.started_at) return false;
  return job.service + (now - attempt.started_at) >= limit;
}

std::string LimitReached(const Job& job) { return "reached its time limit of " + DurationText(job.spec->time_limit); }

void JudgeTimeLimits(Changes& changes) {
  if (!changes.policy().enforce_time_limits) return;
  std::vector<AttemptId> due;
  for (const auto& [at, id] : changes.state().index().limits) {
    if (at > changes.now()) break;
    if (IsHeard(changes.state(), id)) due.push_back(id);
  }
  for (const AttemptId id : due) {
    const Round* round = changes.attempt(id).open_round();
    const AttemptId successor = round ? round->successor : AttemptId{};
    const std::string limit = DurationText(changes.job(id.job).spec->time_limit);
    OpenRound(changes, id, {successor, "its time limit of " + limit + " is reached", false, true});
  }
}

TimePoint NextTimeLimit(const ClusterState& state, const Policy& policy) {
  if (!policy.enforce_time_limits) return {};
  for (const auto& [at, id] : state.index().limits) {
    if (IsHeard(state, id)) return at;  // waking for the others would spin
  }
  return {};
}

}  // namespace glim::core
