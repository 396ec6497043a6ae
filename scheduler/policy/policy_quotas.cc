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
Status ReadQuota(const YAML::Node& value, const std::string& path, Quota* quota) {
  if (!value.IsMap()) return RefuseAt(value, path, "must be a mapping of classes to nodes", "write it like {high: 4}");
  quota->nodes.clear();
  for (const auto& pair : value) {
    const std::string word = pair.first.IsScalar() ? pair.first.Scalar() : "";
    const std::string at = JoinPath(path, Printable(word));
    auto priority = core::ParsePriority(word);
    if (!priority.ok()) {
      return RefuseAt(pair.first, at, "'" + Printable(word) + "' is not a priority class", priority.status().fix());
    }
    if (*priority == core::PriorityClass::kAuto) {
      return RefuseAt(pair.first, at, "auto has no quota of its own", "name a class");
    }
    if (quota->nodes.contains(*priority)) {
      return RefuseAt(pair.first, at, std::string("class ") + core::ToString(*priority) + " is given twice",
                      "keep one");
    }
    auto nodes = ParseYamlNumber(pair.second, at, 0, kNodesMax);
    if (!nodes.ok()) return nodes.status();
    quota->nodes[*priority] = static_cast<std::uint32_t>(*nodes);
  }
  return Status::Ok();
}

YamlField Into(Quota* quota) {
  return [=](const YAML::Node& value, const std::string& path) { return ReadQuota(value, path, quota); };
}

Status ReadRows(const YAML::Node& value, const std::string& path, const char* example, QuotaMap* rows) {
  rows->clear();
  return ReadYamlEntries(value, path, example,
                         [&](const std::string& name, const YAML::Node&, const YAML::Node& row, const std::string& at) {
                           return ReadQuota(row, at, &(*rows)[name]);
                         });
}

// {users: {high: 2}, total: {high: 16}, weight: 200}; each part may be left out.
Status ReadTeam(const std::string& team, const YAML::Node& value, const std::string& path, core::Policy* policy) {
  const YamlFields fields = {
      {"users",
       [&](const YAML::Node& v, const std::string& at) { return ReadQuota(v, at, &policy->team_user_quota[team]); }},
      {"total",
       [&](const YAML::Node& v, const std::string& at) { return ReadQuota(v, at, &policy->team_quota[team]); }},
      {"weight", [&](const YAML::Node& v, const std::string& at) {
         return IntoNumber(&policy->team_weight[team], 1, kWeightMax)(v, at);
       }}};
  return ReadYamlMap(value, path, fields);
}

Status ReadTeams(const YAML::Node& value, const std::string& path, core::Policy* policy) {
  policy->team_user_quota.clear();
  policy->team_quota.clear();
  policy->team_weight.clear();
  return ReadYamlEntries(value, path, "{vision: {total: {high: 16}, weight: 200}}",
                         [&](const std::string& name, const YAML::Node&, const YAML::Node& row, const std::string& at) {
                           return ReadTeam(name, row, at, policy);
                         });
}

Status ReadPools(const YAML::Node& value, const std::string& path, core::Policy* policy, PolicyNames* names) {
  policy->pool_quota.clear();
  return ReadYamlEntries(
      value, path, "{default: {extreme_high: 32}}",
      [&](const std::string& name, const YAML::Node& key, const YAML::Node& row, const std::string& at) {
        Mention(/*zone=*/false, name, key, at, names);
        return ReadQuota(row, at, &policy->pool_quota[name]);
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

Status ReadQuotas(const YAML::Node& value, const std::string& path, core::Policy* policy, PolicyNames* names) {
  const YamlFields fields = {
      {"default_user", Into(&policy->default_user_quota)},
      {"users", [&](const YAML::Node& v,
                    const std::string& at) { return ReadRows(v, at, "{kim: {high: 4}}", &policy->user_quota); }},
      {"teams", [&](const YAML::Node& v, const std::string& at) { return ReadTeams(v, at, policy); }},
      {"pools", [&](const YAML::Node& v, const std::string& at) { return ReadPools(v, at, policy, names); }}};
  return ReadYamlMap(value, path, fields);
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
