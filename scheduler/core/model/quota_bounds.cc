#include "scheduler/core/model/quota_bounds.h"

#include <algorithm>

namespace glim::core {

std::vector<QuotaBound> BoundsOf(const Accounts& accounts, const std::string& user, const std::string& team,
                                 const std::string& pool) {
  std::vector<QuotaBound> bounds;
  const auto add = [&](QuotaOf of, const std::string& subject, const std::string& in, const std::string& who) {
    const auto it = accounts.quotas.find({of, subject, in});
    if (it == accounts.quotas.end()) return false;
    bounds.push_back({it->first, who, &it->second});
    return true;
  };
  for (const std::string& in : {std::string(kAllPools), pool}) {
    const bool own = add(QuotaOf::kUser, user, in, user);
    const bool as_member = !own && !team.empty() && add(QuotaOf::kTeamUser, team, in, user);
    if (!own && !as_member) add(QuotaOf::kDefaultUser, "", in, user);
    if (!team.empty()) add(QuotaOf::kTeam, team, in, "");
    add(QuotaOf::kEverybody, "", in, "");
  }
  return bounds;
}

std::uint32_t NumberFor(const ClassNumbers& numbers, PriorityClass priority) {
  if (numbers.empty()) return kUnlimited;
  if (numbers.rbegin()->first < priority) return 0;
  std::uint32_t least = kUnlimited;
  for (const auto& [named, nodes] : numbers) {
    if (named <= priority) least = std::min(least, nodes);
  }
  return least;
}

std::string Whose(const QuotaBound& bound) {
  const QuotaGroup& group = bound.group;
  if (group.of == QuotaOf::kEverybody) return group.pool == kAllPools ? "everybody" : "pool " + group.pool;
  const std::string who = group.of == QuotaOf::kTeam ? "team " + group.subject : bound.who;
  return group.pool == kAllPools ? who : who + " in pool " + group.pool;
}

}  // namespace glim::core
