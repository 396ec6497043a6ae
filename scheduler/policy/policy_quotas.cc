#include "scheduler/policy/policy_quotas.h"

#include <set>
#include <utility>

#include "sdk/base/printable.h"

namespace glim::server {
namespace {

using core::Quota;
using QuotaMap = std::map<std::string, Quota>;

constexpr std::int64_t kNodesMax = 10'000'000;
constexpr std::int64_t kWeightMax = 1'000'000;
constexpr char kNoLimit[] = "no limit";

// {normal: 8, high: 2}: nodes at a time by class; a class that is not named is unlimited.
Status ReadQuota(const yaml::Node& value, const std::string& path, Quota* quota) {
  if (!value.IsMapping())
    return yaml::RefuseAt(value, path, "must be a mapping of classes to nodes", "write it like {high: 4}");
  quota->nodes.clear();
  for (const yaml::Entry& entry : value.entries) {
    const std::string& word = entry.key;
    const std::string at = yaml::JoinPath(path, Printable(word));
    auto priority = core::ParsePriority(word);
    if (!priority.ok()) {
      return yaml::RefuseAt(entry.mark, at, "'" + Printable(word) + "' is not a priority class",
                            priority.status().fix());
    }
    if (*priority == core::PriorityClass::kAuto) {
      return yaml::RefuseAt(entry.mark, at, "auto has no quota of its own", "name a class");
    }
    if (quota->nodes.contains(*priority)) {
      return yaml::RefuseAt(entry.mark, at, std::string("class ") + core::ToString(*priority) + " is given twice",
                            "keep one");
    }
    auto nodes = yaml::ReadNumber(*entry.value, at, 0, kNodesMax);
    if (!nodes.ok()) return nodes.status();
    quota->nodes[*priority] = static_cast<std::uint32_t>(*nodes);
  }
  return Status::Ok();
}

yaml::Field Into(Quota* quota) {
  return [=](const yaml::Node& value, const std::string& path) { return ReadQuota(value, path, quota); };
}

Status ReadRows(const yaml::Node& value, const std::string& path, const char* example, QuotaMap* rows) {
  rows->clear();
  return yaml::ReadEntries(value, path, example, [&](const yaml::Entry& entry, const std::string& at) {
    return ReadQuota(*entry.value, at, &(*rows)[entry.key]);
  });
}

// {users: {high: 2}, total: {high: 16}, weight: 200}; each part may be left out.
Status ReadTeam(const std::string& team, const yaml::Node& value, const std::string& path, core::Policy* policy) {
  const yaml::Fields fields = {
      {"users",
       [&](const yaml::Node& v, const std::string& at) { return ReadQuota(v, at, &policy->team_user_quota[team]); }},
      {"total",
       [&](const yaml::Node& v, const std::string& at) { return ReadQuota(v, at, &policy->team_quota[team]); }},
      {"weight", [&](const yaml::Node& v, const std::string& at) {
         return yaml::IntoNumber(&policy->team_weight[team], 1, kWeightMax)(v, at);
       }}};
  return yaml::ReadMap(value, path, fields);
}

Status ReadTeams(const yaml::Node& value, const std::string& path, core::Policy* policy) {
  policy->team_user_quota.clear();
  policy->team_quota.clear();
  policy->team_weight.clear();
  return yaml::ReadEntries(
      value, path, "{vision: {total: {high: 16}, weight: 200}}",
      [&](const yaml::Entry& entry, const std::string& at) { return ReadTeam(entry.key, *entry.value, at, policy); });
}

Status ReadPools(const yaml::Node& value, const std::string& path, core::Policy* policy, PolicyNames* names) {
  policy->pool_quota.clear();
  return yaml::ReadEntries(value, path, "{default: {extreme_high: 32}}",
                           [&](const yaml::Entry& entry, const std::string& at) {
                             Mention(/*zone=*/false, entry.key, entry.mark, at, names);
                             return ReadQuota(*entry.value, at, &policy->pool_quota[entry.key]);
                           });
}

// "{high: 4, normal: 8}", from the least urgent class on.
std::string QuotaYaml(const Quota& quota) {
  std::string text = "{";
  for (const auto& [priority, nodes] : quota.nodes) {
    text += (text.size() == 1 ? "" : ", ") + std::string(core::ToString(priority)) + ": " + std::to_string(nodes);
  }
  return text + "}";
}

std::string RowsYaml(const char* key, const QuotaMap& rows) {
  if (rows.empty()) return "";
  std::string text = std::string("  ") + key + ":\n";
  for (const auto& [name, quota] : rows) text += "    " + YamlName(name) + ": " + QuotaYaml(quota) + "\n";
  return text;
}

std::set<std::string> TeamsOf(const core::Policy& policy) {
  std::set<std::string> teams;
  for (const auto& [team, quota] : policy.team_user_quota) teams.insert(team);
  for (const auto& [team, quota] : policy.team_quota) teams.insert(team);
  for (const auto& [team, weight] : policy.team_weight) teams.insert(team);
  return teams;
}

std::string TeamsYaml(const core::Policy& policy) {
  std::string text;
  for (const std::string& team : TeamsOf(policy)) {
    const auto users = policy.team_user_quota.find(team);
    const auto total = policy.team_quota.find(team);
    const auto weight = policy.team_weight.find(team);
    std::string row;
    if (users != policy.team_user_quota.end()) row += "users: " + QuotaYaml(users->second);
    if (total != policy.team_quota.end()) row += (row.empty() ? "" : ", ") + ("total: " + QuotaYaml(total->second));
    if (weight != policy.team_weight.end()) {
      row += (row.empty() ? "" : ", ") + ("weight: " + std::to_string(weight->second));
    }
    text += "    " + YamlName(team) + ": {" + row + "}\n";
  }
  return text.empty() ? "" : "  teams:\n" + text;
}

void FlattenQuota(const std::string& path, const Quota& quota, std::map<std::string, std::string>* out) {
  if (quota.nodes.empty()) (*out)[path] = kNoLimit;
  for (const auto& [priority, nodes] : quota.nodes)
    (*out)[path + "." + core::ToString(priority)] = std::to_string(nodes);
}

}  // namespace

Status ReadQuotas(const yaml::Node& value, const std::string& path, core::Policy* policy, PolicyNames* names) {
  const yaml::Fields fields = {
      {"default_user", Into(&policy->default_user_quota)},
      {"users", [&](const yaml::Node& v,
                    const std::string& at) { return ReadRows(v, at, "{kim: {high: 4}}", &policy->user_quota); }},
      {"teams", [&](const yaml::Node& v, const std::string& at) { return ReadTeams(v, at, policy); }},
      {"pools", [&](const yaml::Node& v, const std::string& at) { return ReadPools(v, at, policy, names); }}};
  return yaml::ReadMap(value, path, fields);
}

std::string QuotasYaml(const core::Policy& policy) {
  std::string text;
  if (!policy.default_user_quota.nodes.empty())
    text += "  default_user: " + QuotaYaml(policy.default_user_quota) + "\n";
  text += RowsYaml("users", policy.user_quota) + TeamsYaml(policy) + RowsYaml("pools", policy.pool_quota);
  return text.empty() ? "" : "quotas:\n" + text;
}

void FlattenQuotas(const core::Policy& policy, std::map<std::string, std::string>* out) {
  if (!policy.default_user_quota.nodes.empty()) {
    FlattenQuota("quotas.default_user", policy.default_user_quota, out);
  }
  for (const auto& [user, quota] : policy.user_quota) FlattenQuota("quotas.users." + user, quota, out);
  for (const auto& [team, quota] : policy.team_user_quota) FlattenQuota("quotas.teams." + team + ".users", quota, out);
  for (const auto& [team, quota] : policy.team_quota) FlattenQuota("quotas.teams." + team + ".total", quota, out);
  for (const auto& [team, weight] : policy.team_weight) {
    (*out)["quotas.teams." + team + ".weight"] = std::to_string(weight);
  }
  for (const auto& [pool, quota] : policy.pool_quota) FlattenQuota("quotas.pools." + pool, quota, out);
}

}  // namespace glim::server
