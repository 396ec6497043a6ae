#include "scheduler/core/model/account_access.h"

#include <algorithm>

#include "scheduler/core/model/spec.h"
#include "scheduler/core/model/task_user.h"

namespace glim::core {

Bar BarOf(const Accounts& accounts, const Policy& policy, const std::string& user, const std::string& team,
          const std::string& pool) {
  if (accounts.users_disabled > 0) {
    const auto found = accounts.users.find(user);
    if (found != accounts.users.end() && found->second.disabled) return Bar::kUserDisabled;
  }
  if (accounts.teams_with_pools > 0) {
    const auto found = accounts.teams.find(team);
    const bool bound = found != accounts.teams.end() && !found->second.pools.empty();
    if (bound) {
      const auto& pools = found->second.pools;
      if (std::find(pools.begin(), pools.end(), pool) == pools.end()) return Bar::kPoolNotAllowed;
    }
  }
  return FaultOfTaskUser(accounts, policy, user) ? Bar::kTaskUser : Bar::kNone;
}

std::optional<Blocker> BarBlocker(const Accounts& accounts, const Policy& policy, const std::string& user,
                                  const std::string& team, const std::string& pool) {
  switch (BarOf(accounts, policy, user, team, pool)) {
    case Bar::kNone: return std::nullopt;
    case Bar::kUserDisabled:
      return Blocker{BlockerKind::kUserDisabled,
                     "user " + user + " is disabled: none of their jobs starts until an operator enables them: " +
                         "glim admin user set " + user + " --enable",
                     0,
                     0,
                     {}};
    case Bar::kPoolNotAllowed:
      return Blocker{BlockerKind::kPoolNotAllowed,
                     "team " + team + " may not use pool " + pool +
                         " any more; the job waits until an operator gives it the pool back: cancel it and submit it " +
                         "to another pool, or ask for: glim admin team set " + team + " --pools " + pool,
                     0,
                     0,
                     {}};
    case Bar::kTaskUser: {
      const TaskUserFault fault = *FaultOfTaskUser(accounts, policy, user);
      return Blocker{
          BlockerKind::kUser, fault.what + "; the job waits until an operator mends it: " + fault.fix, 0, 0, {}};
    }
  }
  return std::nullopt;
}

bool IsTeam(const Accounts& accounts, const std::string& team) {
  return accounts.teams.contains(team) ||
         std::any_of(accounts.users.begin(), accounts.users.end(), [&](const auto& user) {
           const std::vector<std::string>& teams = user.second.teams;
           return std::find(teams.begin(), teams.end(), team) != teams.end();
         });
}

std::string DefaultPool(const Accounts& accounts, const std::string& team) {
  const auto found = accounts.teams.find(team);
  return found == accounts.teams.end() || found->second.default_pool.empty() ? JobSpec{}.pool
                                                                             : found->second.default_pool;
}

}  // namespace glim::core
