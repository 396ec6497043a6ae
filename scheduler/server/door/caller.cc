#include "scheduler/server/door/caller.h"

#include <algorithm>

namespace glim::server {

bool Owns(const Caller& caller, const core::Job& job) {
  if (caller.user.empty() || job.user != caller.user) return false;
  return !caller.IsJob() || job.id == caller.attempt.job || job.parent == caller.attempt.job;
}

bool HasRight(const Caller& caller, std::string_view user, std::string_view team) {
  if (caller.IsOperator()) return true;
  if (caller.IsJob() || caller.user.empty()) return false;
  const auto& teams = caller.admin_of;
  return user == caller.user || (!team.empty() && std::find(teams.begin(), teams.end(), team) != teams.end());
}

bool HasRight(const Caller& caller, const core::Job& job) {
  return Owns(caller, job) || HasRight(caller, job.user, job.team);
}

core::Role RoleInForce(const core::User& user, core::TokenOrigin origin) {
  core::Role most = core::Role::kAdmin;
  if (origin == core::TokenOrigin::kLogin) most = core::Role::kTeamAdmin;
  if (origin == core::TokenOrigin::kJob) most = core::Role::kUser;
  const core::Role role = std::min(user.role, most);
  if (role == core::Role::kUser && most > role && !user.admin_of.empty()) return core::Role::kTeamAdmin;
  // An operator who logs in by a host's socket is the user that the registry knows, no more.
  if (role == core::Role::kTeamAdmin && user.admin_of.empty()) return core::Role::kUser;
  return role;
}

core::Role RoleInForce(const core::Accounts& accounts, const core::User& user, const core::TokenRow& token) {
  const core::Role role = RoleInForce(user, token.origin);
  const bool made = token.origin == core::TokenOrigin::kPersonal || token.origin == core::TokenOrigin::kOidc;
  if (!made || token.made_by == token.user) return role;
  const auto maker = accounts.users.find(token.made_by);
  const bool gone = maker == accounts.users.end() || maker->second.disabled;
  const core::Role most = gone ? core::Role::kUser : std::max(core::Role::kUser, maker->second.role);
  if (role <= core::Role::kTeamAdmin || role <= most) return role;
  if (most >= core::Role::kOperator) return most;
  return user.admin_of.empty() ? core::Role::kUser : core::Role::kTeamAdmin;
}

}  // namespace glim::server
