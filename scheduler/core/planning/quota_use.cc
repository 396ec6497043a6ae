#include "scheduler/core/planning/quota_use.h"

#include <algorithm>
#include <vector>

namespace glim::core {

const Quota& UserQuotaOf(const Policy& policy, const std::string& user, const std::string& team) {
  if (const auto own = policy.user_quota.find(user); own != policy.user_quota.end()) return own->second;
  if (const auto each = policy.team_user_quota.find(team); each != policy.team_user_quota.end()) return each->second;
  return policy.default_user_quota;
}

QuotaUse::QuotaUse(const ClusterState& state, const Policy& policy) : policy_(policy) {
  const bool any = !policy.default_user_quota.nodes.empty() || !policy.user_quota.empty() ||
                   !policy.team_quota.empty() || !policy.team_user_quota.empty() || !policy.pool_quota.empty();
  if (!any) return;
  std::vector<const Attempt*> live;
  for (const auto& [pool, attempts] : state.index().live) {
    for (const AttemptId id : attempts) live.push_back(state.FindAttempt(id));
  }
  std::sort(live.begin(), live.end(), [](const Attempt* a, const Attempt* b) {
    return std::tuple(a->borrowed, a->claimed_at, a->id) < std::tuple(b->borrowed, b->claimed_at, b->id);
  });
  for (const Attempt* attempt : live) {
    const Job& job = *state.FindJob(attempt->id.job);
    if (Fits(job, attempt->charged)) {
      Charge(job, attempt->charged);
    } else {
      borrowed_.insert(attempt->id);
    }
  }
}

void QuotaUse::Charge(const Job& job, PriorityClass priority) {
  const std::uint32_t nodes = job.spec->nodes;
  used_[{Subject::kUser, job.user, priority}] += nodes;
  if (!policy_.team_quota.empty()) used_[{Subject::kTeam, job.team, priority}] += nodes;
  if (!policy_.pool_quota.empty()) used_[{Subject::kPool, job.spec->pool, priority}] += nodes;
}

std::uint32_t QuotaUse::Used(Subject subject, const std::string& name, PriorityClass priority) const {
  const auto it = used_.find({subject, name, priority});
  return it == used_.end() ? 0 : it->second;
}

QuotaUse::Left QuotaUse::LeftFor(const Job& job, PriorityClass priority) const {
  Left left;
  const auto bound = [&](const Quota& quota, Subject subject, const std::string& name, const std::string& words) {
    const std::uint32_t all = quota.For(priority);
    if (all == kUnlimited) return;
    const std::uint32_t used = Used(subject, name, priority);
    const std::uint32_t rest = all > used ? all - used : 0;
    if (rest < left.nodes) left = {rest, words + name};
  };
  bound(UserQuotaOf(policy_, job.user, job.team), Subject::kUser, job.user, "");
  if (const auto it = policy_.team_quota.find(job.team); it != policy_.team_quota.end()) {
    bound(it->second, Subject::kTeam, job.team, "team ");
  }
  if (const auto it = policy_.pool_quota.find(job.spec->pool); it != policy_.pool_quota.end()) {
    bound(it->second, Subject::kPool, job.spec->pool, "pool ");
  }
  return left;
}

PriorityClass QuotaUse::ClassOf(const Job& job) const {
  if (job.spec->priority != PriorityClass::kAuto) return job.spec->priority;
  // The highest class of which the user was given a share and has enough left; without shares, normal.
  const auto& quota = UserQuotaOf(policy_, job.user, job.team).nodes;
  for (auto it = quota.rbegin(); it != quota.rend(); ++it) {
    if (it->second != kUnlimited && Fits(job, it->first)) return it->first;
  }
  return quota.empty() ? PriorityClass::kNormal : PriorityClass::kLow;
}

}  // namespace glim::core
