#include "scheduler/core/lifecycle/limit_timers.h"

#include <algorithm>
#include <vector>

#include "scheduler/core/lifecycle/agreement_machine.h"
#include "scheduler/core/model/duration_text.h"

namespace glim::core {
namespace {

bool IsHeard(const ClusterState& state, AttemptId id) {
  const std::vector<NodeId>& nodes = state.FindAttempt(id)->nodes;
  return std::all_of(nodes.begin(), nodes.end(),
                     [&](NodeId node) { return state.FindNode(node)->state == NodeState::kReady; });
}

}  // namespace

void JudgeTimeLimits(Changes& changes) {
  if (!changes.policy().enforce_time_limits) return;
  std::vector<AttemptId> due;
  for (const auto& [at, id] : changes.state().index().limits) {
    if (at > changes.now()) break;
    if (IsHeard(changes.state(), id)) due.push_back(id);
  }
  for (const AttemptId id : due) {
    const Agreement* agreement = changes.attempt(id).open_agreement();
    const AttemptId preemptor = agreement ? agreement->preemptor : AttemptId{};
    const std::string limit = DurationText(changes.job(id.job).spec->time_limit);
    OpenAgreement(changes, id, {preemptor, "its time limit of " + limit + " is reached", false, true});
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
