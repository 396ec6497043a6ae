#include "scheduler/core/lifecycle/account_bars.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "scheduler/core/model/account_access.h"
#include "scheduler/core/model/quota_bounds.h"
#include "scheduler/core/model/task_user.h"

namespace glim::core {
namespace {

std::string PoolsListed(const std::vector<std::string>& names, const char* between = ", ") {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : between) + name;
  return text;
}

// The commands that would let the class have so many nodes of it: each number at the class or lower has to be one.
std::string WayOut(const QuotaBound& bound, const std::string& user, PriorityClass priority, std::uint32_t nodes) {
  QuotaGroup group = bound.group;
  std::vector<PriorityClass> classes;
  if (group.of == QuotaOf::kTeamUser || group.of == QuotaOf::kDefaultUser) {
    group = {QuotaOf::kUser, user, group.pool};  // counts instead
    classes = {priority};
  } else {
    for (const auto& [named, number] : *bound.numbers) {
      if (named <= priority && number == 0) classes.push_back(named);
    }
    if (bound.numbers->rbegin()->first < priority) classes.push_back(priority);
  }
  std::string commands;
  for (const PriorityClass one : classes) {
    commands += (commands.empty() ? "" : " and ") + CommandFor({QuotaRow{group, one, nodes}});
  }
  return commands;
}

}  // namespace

Result<std::string> TeamFor(const Accounts& accounts, const std::string& user, const std::string& asked) {
  const auto it = accounts.users.find(user);
  const std::vector<std::string> teams = it == accounts.users.end() ? std::vector<std::string>() : it->second.teams;
  if (asked.empty()) return teams.empty() ? std::string() : teams.front();
  if (std::find(teams.begin(), teams.end(), asked) != teams.end()) return asked;
  std::string mine;
  for (const std::string& team : teams) mine += (mine.empty() ? "" : ", ") + team;
  return Status(StatusCode::kPermissionDenied, "team: user " + user + " is not in team '" + asked + "'")
      .WithReason("NOT_IN_TEAM")
      .WithField("team")
      .WithFix(teams.empty()
                   ? "leave team out, or ask an operator for: glim admin user set " + user + " --team " + asked
                   : "use one of " + mine);
}

Status CheckAccess(const Accounts& accounts, const Policy& policy, const std::string& user, const std::string& team,
                   const std::string& pool) {
  switch (BarOf(accounts, policy, user, team, pool)) {
    case Bar::kNone: return Status::Ok();
    case Bar::kUserDisabled:
      return Status(StatusCode::kPermissionDenied, "user " + user + " is disabled")
          .WithReason("USER_DISABLED")
          .WithField("user")
          .WithFix("ask an operator for: glim admin user set " + user + " --enable");
    case Bar::kTaskUser: {
      const TaskUserFault fault = *FaultOfTaskUser(accounts, policy, user);
      return Status(StatusCode::kPermissionDenied, fault.field + ": " + fault.what)
          .WithReason("UID_NOT_ALLOWED")
          .WithField(fault.field)
          .WithFix("ask an operator: " + fault.fix);
    }
    case Bar::kPoolNotAllowed: break;
  }
  const std::vector<std::string>& pools = accounts.teams.at(team).pools;
  return Status(StatusCode::kPermissionDenied, "pool: team " + team + " may not use pool " + pool)
      .WithReason("POOL_NOT_ALLOWED")
      .WithField("pool")
      .WithFix("use one of " + PoolsListed(pools) + ", or ask an operator for: glim admin team set " + team +
               " --pools " + PoolsListed(pools, ",") + "," + pool);
}

Status CheckQuotaAllows(const Accounts& accounts, const std::string& user, const std::string& team,
                        const JobSpec& spec) {
  // auto may always become low, and is refused where low is.
  const PriorityClass priority = spec.priority == PriorityClass::kAuto ? PriorityClass::kLow : spec.priority;
  for (const QuotaBound& bound : BoundsOf(accounts, user, team, spec.pool)) {
    if (NumberFor(*bound.numbers, priority) > 0) continue;
    PriorityClass allowed = PriorityClass::kAuto;
    for (const auto& [named, nodes] : *bound.numbers) {
      if (NumberFor(*bound.numbers, named) > 0) allowed = named;
    }
    const bool lower = allowed != PriorityClass::kAuto || NumberFor(*bound.numbers, PriorityClass::kLow) > 0;
    std::string fix = "ask an operator for: " + WayOut(bound, user, priority, spec.nodes);
    if (allowed != PriorityClass::kAuto) {
      fix = std::string("use class ") + ToString(allowed) + " or lower, or " + fix;
    } else if (lower) {
      fix = "use class low, or " + fix;
    }
    return Status(StatusCode::kPermissionDenied, std::string("priority: class ") + ToString(priority) +
                                                     " is not allowed: the quota of " + Whose(bound) +
                                                     " gives it 0 nodes (" + MeaningOf(*bound.numbers) + ")")
        .WithReason("QUOTA_EXCEEDED")
        .WithField("priority")
        .WithFix(std::move(fix));
  }
  return Status::Ok();
}

}  // namespace glim::core
