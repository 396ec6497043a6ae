#include "scheduler/core/planning/urgencies.h"

namespace glim::core {

Urgencies::Urgencies(const ClusterState& state, const Policy& policy, TimePoint now)
    : state_(state), policy_(policy), now_(now) {
  AddShares();
}

// Shares tell teams apart: where there is one team, all are alike.
void Urgencies::AddShares() {
  std::map<std::string, std::int64_t> decayed;
  for (const auto& [shape, queue] : state_.index().queue) decayed.emplace(shape.team, 0);
  for (const auto& [pool, attempts] : state_.index().live) {
    for (const AttemptId id : attempts) decayed.emplace(state_.FindJob(id.job)->team, 0);
  }
  if (decayed.size() < 2) return;
  for (auto& [team, gpu_ms] : decayed) gpu_ms = state_.index().team_service.Decayed(team, now_);
  for (const auto& [pool, attempts] : state_.index().live) {
    for (const AttemptId id : attempts) {
      const Attempt& attempt = *state_.FindAttempt(id);
      if (!attempt.started_at) continue;
      const Job& job = *state_.FindJob(id.job);
      const std::int64_t gpus = std::int64_t{job.spec->gpus_per_node} * job.spec->nodes;
      decayed[job.team] += DecayedSpan(gpus, attempt.started_at, now_, now_);
    }
  }
  for (const auto& [team, gpu_ms] : decayed) shares_[team] = ShareOf(policy_, team, gpu_ms);
}

std::int32_t Urgencies::ShareOfTeam(const std::string& team) const {
  const auto it = shares_.find(team);
  return it == shares_.end() ? 0 : it->second;
}

Urgency Urgencies::OfWaiting(const Shape& shape) const {
  return {ShareOfTeam(shape.team), ScoreOfWaiting(state_, policy_, KindOf(shape), BucketBegin(shape.service_bucket))};
}

Urgency Urgencies::OfRunning(const Job& job, const Attempt& attempt) const {
  const Duration service = ServiceOf(job, &attempt, now_);
  return {ShareOfTeam(job.team), ScoreOfRunning(state_, policy_, KindOf(job), service)};
}

}  // namespace glim::core
