#include "scheduler/core/planning/urgencies.h"

#include <algorithm>
#include <vector>

#include "scheduler/core/model/attempt_gpus.h"

namespace glim::core {

Urgencies::Urgencies(const ClusterState& state, const Policy& policy, TimePoint now)
    : state_(state), policy_(policy), now_(now) {
  AddShares();
}

// Shares tell teams apart, and the users of a team that has a name: where there is one of them, all are alike.
void Urgencies::AddShares() {
  std::map<std::string, OfTeam> teams;
  const Shape* last = nullptr;
  for (const auto& [shape, queue] : state_.index().queue) {
    if (!last || last->user != shape.user || last->team != shape.team) teams[shape.team].users[shape.user];
    last = &shape;
  }
  struct Live {
    OfTeam* team;
    std::int64_t* user;  // its service in that team
    const Attempt* attempt;
  };
  std::vector<Live> live;
  for (const auto& [pool, attempts] : state_.index().live) {
    for (const AttemptId id : attempts) {
      const Job& job = *state_.FindJob(id.job);
      if (job.validates) continue;  // it is nobody's
      OfTeam& team = teams[job.team];
      live.push_back({&team, &team.users[job.user], state_.FindAttempt(id)});
    }
  }
  const bool users_differ = std::any_of(teams.begin(), teams.end(),
                                        [](const auto& team) { return TellsUsersApart(team.first, team.second); });
  if (teams.size() < 2 && !users_differ) return;
  for (auto& [name, team] : teams) {
    team.gpu_ms = state_.index().team_service.Decayed(name, now_);
    if (!TellsUsersApart(name, team)) continue;
    for (auto& [user, gpu_ms] : team.users) gpu_ms = state_.index().team_service.Decayed(ShareId{name, user}, now_);
  }
  for (const Live& one : live) {
    const TimePoint started_at = one.attempt->started_at;
    if (!started_at) continue;
    const std::int64_t span = DecayedSpan(GpusKeptBy(state_, *one.attempt), started_at, now_, now_);
    one.team->gpu_ms += span;
    *one.user += span;
  }
  for (const auto& [name, team] : teams) {
    if (teams.size() > 1) shares_[name] = ShareOf(state_.accounts().WeightOf(name), team.gpu_ms);
    if (!TellsUsersApart(name, team)) continue;
    std::int64_t sum = 0;
    for (const auto& [user, gpu_ms] : team.users) sum += gpu_ms;
    for (const auto& [user, gpu_ms] : team.users)
      user_shares_[name][user] = UserShareOf(gpu_ms, sum, team.users.size());
  }
}

Urgency Urgencies::SharesOf(const std::string& team, const std::string& user) const {
  Urgency urgency;
  if (const auto it = shares_.find(team); it != shares_.end()) urgency.share = it->second;
  if (const auto it = user_shares_.find(team); it != user_shares_.end()) {
    if (const auto own = it->second.find(user); own != it->second.end()) urgency.user_share = own->second;
  }
  return urgency;
}

Urgency Urgencies::OfWaiting(const Shape& shape) const {
  Urgency urgency = SharesOf(shape.team, shape.user);
  urgency.score = ScoreOfWaiting(state_, policy_, KindOf(shape), BucketBegin(shape.service_bucket));
  return urgency;
}

Urgency Urgencies::OfRunning(const Job& job, const Attempt& attempt) const {
  Urgency urgency = SharesOf(job.team, job.user);
  urgency.score = ScoreOfRunning(state_, policy_, KindOf(job), ServiceOf(job, &attempt, now_));
  return urgency;
}

}  // namespace glim::core
