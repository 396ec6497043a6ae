#include "scheduler/sim/world/turns.h"

#include <algorithm>
#include <utility>

#include "scheduler/core/model/node_users.h"
#include "scheduler/core/model/task_user.h"

namespace glim::sim {
namespace {

using core::BlockerKind;

bool MayBeIn(const std::vector<std::string>& zones, const std::string& zone) {
  return zones.empty() || std::find(zones.begin(), zones.end(), zone) != zones.end();
}

// Nodes of that zone that would have done for the one would have done for the other.
bool AsksNoMore(const core::Shape& shape, const core::JobSpec& spec, const std::string& zone) {
  core::Placement placement = shape.placement;
  placement.zones = spec.placement.zones;
  return shape.pool == spec.pool && shape.priority == spec.priority && shape.nodes <= spec.nodes &&
         shape.gpus_per_node <= spec.gpus_per_node && placement == spec.placement &&
         MayBeIn(shape.placement.zones, zone) && shape.time_limit == core::LimitClass(spec.time_limit) &&
         !shape.save.node;
}

// Neither beyond a quota, nor barred by its user's or team's row, nor by a reservation.
bool MayStart(const core::ClusterState& state, const core::Shape& shape) {
  const auto verdict = state.verdicts->find(shape);
  return verdict != state.verdicts->end() &&
         std::none_of(verdict->second.begin(), verdict->second.end(), [](const core::Blocker& b) {
           return b.kind == BlockerKind::kQuota || b.kind == BlockerKind::kUserDisabled ||
                  b.kind == BlockerKind::kPoolNotAllowed || b.kind == BlockerKind::kUser ||
                  b.kind == BlockerKind::kBudget ||
                  b.kind == BlockerKind::kReserved;  // what is another team's, or soon will be
         });
}

// Would each of these nodes run a job of the user?
bool AreOpenTo(const core::ClusterState& state, const std::vector<core::NodeId>& nodes, const std::string& user) {
  const auto uid = core::UidOf(state.accounts(), user);
  return std::all_of(nodes.begin(), nodes.end(),
                     [&](core::NodeId id) { return core::Takes(core::RuleOf(*state.FindNode(id)), uid); });
}

// A claim of the user or team was displaced in this batch: until then it used what is left of a quota now.
bool HasQuotaBack(const core::ClusterState& state, const core::Shape& shape, TimePoint now) {
  bool has = false;
  state.tables().attempts.ForEach([&](core::AttemptId id, const core::Attempt& attempt) {
    if (attempt.outcome != core::Outcome::kClaimDropped || attempt.ended_at != now) return;
    const core::Job& job = *state.FindJob(id.job);
    has = has || job.user == shape.user || (!shape.team.empty() && job.team == shape.team);
  });
  return has;
}

// It was given what was free, at once.
bool TookFreeNodes(const core::Attempt& attempt, TimePoint now) {
  return attempt.claimed_at == now && attempt.started_at == now && attempt.victims.empty() && attempt.zones.size() == 1;
}

}  // namespace

void CheckTurns(const core::ClusterState& state, const core::Policy& policy, TimePoint now,
                const std::set<core::AttemptId>& begun, const std::function<void(const std::string&)>& violation) {
  const TimePoint starved_since = now - policy.starvation_bound;
  for (const core::AttemptId id : begun) {
    const core::Attempt* attempt = state.FindAttempt(id);
    if (!attempt || attempt->state == core::AttemptState::kEnded) continue;
    if (!TookFreeNodes(*attempt, now) || attempt->queued_at <= starved_since) continue;
    const core::JobSpec& spec = *state.FindJob(id.job)->spec;
    if (spec.priority == core::PriorityClass::kAuto) continue;
    for (const auto& [shape, waiting] : state.index().waiting) {
      const auto& [since, starved] = *waiting.begin();
      if (since > starved_since || !AsksNoMore(shape, spec, attempt->zones[0]) || !MayStart(state, shape)) continue;
      if (!AreOpenTo(state, attempt->nodes, shape.user) || HasQuotaBack(state, shape, now)) continue;
      violation("job " + std::to_string(starved.value) + " has starved and asks for no more than job " +
                std::to_string(id.job.value) + ", which was given free nodes before it");
    }
  }
}

}  // namespace glim::sim
