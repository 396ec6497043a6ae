#include "scheduler/core/model/task_user.h"

#include <algorithm>
#include <string_view>

#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/policy.h"

namespace glim::core {
namespace {

// A pass asks for every job: what is allowed costs no words.
std::optional<TaskUserFault> FaultOf(const char* field, const char* list, const char* option, std::uint32_t id,
                                     const std::vector<std::uint32_t>& allowed, const std::string& user) {
  const bool listed = id >= kOwnIdsFrom || std::find(allowed.begin(), allowed.end(), id) != allowed.end();
  if (listed && !IsNeverATasks(id)) return std::nullopt;
  const std::string what =
      (std::string(field) == "groups" ? "group " : std::string(field) + " ") + std::to_string(id) + " of user " + user;
  const std::string give = "glim admin user set " + user + " " + option;
  if (id == 0) {
    return TaskUserFault{field, what + " is root's, which no task has", "give " + user + " another: " + give};
  }
  if (const std::string_view why = NoUsersId(id); !why.empty()) {
    return TaskUserFault{field, what + std::string(why), "give " + user + " another: " + give};
  }
  return TaskUserFault{
      field,
      what + " is the system's: it is below " + std::to_string(kOwnIdsFrom) + ", and the policy does not list it",
      "give " + user + " another (" + give + "), or list " + std::to_string(id) + " in the policy's task_users." +
          list};
}

}  // namespace

std::optional<TaskUser> TaskUserOf(const Accounts& accounts, const std::string& user) {
  const auto found = accounts.users.find(user);
  if (found == accounts.users.end() || !found->second.uid || !found->second.gid) return std::nullopt;
  return TaskUser{*found->second.uid, *found->second.gid, found->second.groups};
}

std::optional<std::uint32_t> UidOf(const Accounts& accounts, const std::string& user) {
  const auto found = accounts.users.find(user);
  const bool has = found != accounts.users.end() && found->second.gid;
  return has ? found->second.uid : std::nullopt;
}

std::optional<TaskUserFault> FaultOfTaskUser(const Accounts& accounts, const Policy& policy, const std::string& user) {
  if (accounts.users_with_system_ids == 0) return std::nullopt;
  const auto found = accounts.users.find(user);
  if (found == accounts.users.end() || !found->second.uid || !found->second.gid) return std::nullopt;
  const User& ids = found->second;
  const TaskUsersPolicy& lists = policy.task_users;
  if (auto fault = FaultOf("uid", "allow_uids", "--uid N --gid N", *ids.uid, lists.allow_uids, user)) return fault;
  if (auto fault = FaultOf("gid", "allow_gids", "--gid N", *ids.gid, lists.allow_gids, user)) return fault;
  for (const std::uint32_t group : ids.groups) {
    if (auto fault = FaultOf("groups", "allow_gids", "--group N,...", group, lists.allow_gids, user)) return fault;
  }
  return std::nullopt;
}

}  // namespace glim::core
