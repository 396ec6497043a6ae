#include "scheduler/core/model/policy_accounts.h"

#include <algorithm>
#include <set>
#include <utility>

namespace glim::core {
namespace {

void AddQuota(QuotaGroup group, const Quota& quota, std::vector<AccountChange>& changes) {
  if (quota.nodes.empty() && group.of != QuotaOf::kDefaultUser) {
    changes.push_back({QuotaRow{group, PriorityClass::kExtremeHigh, kQuotaNodesMax}});
  }
  for (const auto& [priority, nodes] : quota.nodes) {
    changes.push_back({QuotaRow{group, priority, std::min(nodes, kQuotaNodesMax)}});
  }
}

}  // namespace

std::vector<AccountChange> QuotasOf(const Policy& policy) {
  std::vector<AccountChange> changes;
  std::set<std::string> teams;
  for (const auto& [team, quota] : policy.team_user_quota) teams.insert(team);
  for (const auto& [team, quota] : policy.team_quota) teams.insert(team);
  for (const auto& [team, weight] : policy.team_weight) teams.insert(team);
  for (const std::string& team : teams) {
    const auto weight = policy.team_weight.find(team);
    changes.push_back({Team{team, weight == policy.team_weight.end() ? kTeamWeight : weight->second}});
  }
  for (const auto& [user, quota] : policy.user_quota) AddQuota({QuotaOf::kUser, user}, quota, changes);
  for (const auto& [team, quota] : policy.team_quota) AddQuota({QuotaOf::kTeam, team}, quota, changes);
  for (const auto& [team, quota] : policy.team_user_quota) AddQuota({QuotaOf::kTeamUser, team}, quota, changes);
  AddQuota({QuotaOf::kDefaultUser, ""}, policy.default_user_quota, changes);
  for (const auto& [pool, quota] : policy.pool_quota) AddQuota({QuotaOf::kEverybody, "", pool}, quota, changes);
  return changes;
}

std::vector<AccountChange> LinksOf(const Policy& policy) {
  std::vector<AccountChange> changes;
  for (const ZoneLink& link : policy.links) changes.push_back({link});
  return changes;
}

std::vector<AccountChange> AccountsOf(const Policy& policy) {
  std::vector<AccountChange> changes = QuotasOf(policy);
  for (AccountChange& link : LinksOf(policy)) changes.push_back(std::move(link));
  return changes;
}

}  // namespace glim::core
