#include "scheduler/core/model/node_users.h"

#include <algorithm>

#include "scheduler/core/model/task_user.h"

namespace glim::core {
namespace {

constexpr std::size_t kUidsNamedMax = 3;

std::string NodesWhich(std::size_t nodes, const char* one, const char* many) {
  return std::to_string(nodes) + (nodes == 1 ? std::string(" node ") + one : std::string(" nodes ") + many);
}

std::string UserWith(const Accounts& accounts, std::uint32_t uid) {
  for (const auto& [name, user] : accounts.users) {
    if (user.uid == uid) return " (" + name + ")";
  }
  return "";
}

}  // namespace

UserRule RuleOf(const Node& node) { return {node.only_uid, node.needs_uid}; }

bool Takes(const UserRule& rule, const std::optional<std::uint32_t>& uid) {
  return rule.only_uid ? uid == rule.only_uid : uid.has_value() || !rule.needs_uid;
}

std::optional<TaskUser> ClusterUserOn(const Accounts& accounts, const Policy& policy, const Node& node) {
  if (node.only_uid) return TaskUser{*node.only_uid, *node.only_uid};
  const bool faulty = FaultOfTaskUser(accounts, policy, kClusterUser).has_value();
  std::optional<TaskUser> own = TaskUserOf(accounts, kClusterUser);
  if (own && !faulty) return own;
  return node.needs_uid ? std::optional(TaskUser{kClusterUid, kClusterUid}) : std::nullopt;
}

std::vector<bool> RulesThatTake(const PoolLayout& pool, const Accounts& accounts, const std::string& user) {
  if (pool.user_rules.size() == 1 && pool.user_rules[0] == UserRule()) return {};
  const std::optional<std::uint32_t> uid = UidOf(accounts, user);
  std::vector<bool> take;
  for (const UserRule& rule : pool.user_rules) take.push_back(Takes(rule, uid));
  return std::count(take.begin(), take.end(), false) == 0 ? std::vector<bool>() : take;
}

std::string ClosedInWords(const PoolLayout& pool, const ClosedNodes& closed, const Accounts& accounts) {
  std::map<std::uint32_t, std::size_t> by_uid;
  std::size_t without_uid = 0;
  for (const auto& [index, nodes] : closed) {
    const UserRule& rule = pool.user_rules[index];
    (rule.only_uid ? by_uid[*rule.only_uid] : without_uid) += nodes;
  }
  std::string words;
  const auto add = [&](const std::string& part) { words += (words.empty() ? "" : ", ") + part; };
  std::size_t named = 0, rest = 0;
  for (const auto& [uid, nodes] : by_uid) {
    if (++named > kUidsNamedMax) {
      rest += nodes;
    } else {
      add(NodesWhich(nodes, "runs", "run") + " only jobs of uid " + std::to_string(uid) + UserWith(accounts, uid));
    }
  }
  if (rest > 0) {
    add(NodesWhich(rest, "runs", "run") + " only jobs of " + std::to_string(named - kUidsNamedMax) + " more uids");
  }
  if (without_uid > 0) add(NodesWhich(without_uid, "runs", "run") + " no job of a user without a uid");
  return words;
}

std::string WhyClosed(const Accounts& accounts, const std::string& user) {
  const std::optional<std::uint32_t> uid = UidOf(accounts, user);
  return uid ? "user " + user + " has uid " + std::to_string(*uid) : "user " + user + " has no uid in the registry";
}

std::string OpenerOf(const Accounts& accounts, const std::string& user) {
  if (UidOf(accounts, user)) return "";
  const bool known = accounts.users.contains(user);
  return std::string("an operator gives one: glim admin user ") + (known ? "set " : "add ") + user + " --uid N --gid N";
}

}  // namespace glim::core
