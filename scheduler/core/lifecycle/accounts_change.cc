#include "scheduler/core/lifecycle/accounts_change.h"

#include <algorithm>
#include <utility>

#include "scheduler/core/model/quota_bounds.h"

namespace glim::core {
namespace {

constexpr std::size_t kNamedMax = 3;

Status NoSuch(const std::string& field, const std::string& what, const std::string& fix) {
  return Status(StatusCode::kNotFound, field + ": no " + what)
      .WithReason("NO_SUCH_ACCOUNT")
      .WithField(field)
      .WithFix(fix);
}

Status InUse(const std::string& field, const std::string& what, const std::string& fix) {
  return Status(StatusCode::kFailedPrecondition, field + ": " + what)
      .WithReason("IN_USE")
      .WithField(field)
      .WithFix(fix);
}

Status CheckName(const std::string& field, const std::string& name) {
  if (IsAccountName(name)) return Status::Ok();
  return InvalidArgument(field, name.empty() ? "is missing" : "is no name",
                         "use 1 to 64 characters of A-Z a-z 0-9 . _ -");
}

Status NoSuchTeam(const std::string& field, const std::string& team) {
  return NoSuch(field, "team " + team,
                "glim admin team list shows the teams; glim admin team add " + team + " makes it");
}

// Looks at one change on the accounts as the changes before it leave them.
struct Checker {
  const Accounts& accounts;
  bool removed;

  Status operator()(const User& row) const {
    if (Status s = CheckName("user", row.name); !s.ok()) return s;
    if (removed) {
      if (accounts.users.contains(row.name)) return Status::Ok();
      return NoSuch("user", "user " + row.name, "glim admin user list shows the users");
    }
    for (std::size_t i = 0; i < row.teams.size(); ++i) {
      const std::string& team = row.teams[i];
      if (Status s = CheckName("teams", team); !s.ok()) return s;
      if (std::count(row.teams.begin(), row.teams.end(), team) > 1) {
        return InvalidArgument("teams", "team " + team + " is given twice", "keep one");
      }
      if (!accounts.teams.contains(team)) return NoSuchTeam("teams", team);
    }
    return Status::Ok();
  }

  Status operator()(const Team& row) const {
    if (Status s = CheckName("team", row.name); !s.ok()) return s;
    if (removed) return CheckGone(row.name);
    if (row.weight >= 1 && row.weight <= kTeamWeightMax) return Status::Ok();
    return InvalidArgument("weight", std::to_string(row.weight) + " is out of range",
                           "use 1 to " + std::to_string(kTeamWeightMax));
  }

  // A team goes when nobody is in it and no quota names it: a member's jobs would lose their team in silence.
  Status CheckGone(const std::string& team) const {
    if (!accounts.teams.contains(team)) return NoSuchTeam("team", team);
    std::string members;
    std::size_t count = 0;
    for (const auto& [name, user] : accounts.users) {
      if (std::find(user.teams.begin(), user.teams.end(), team) == user.teams.end()) continue;
      if (++count <= kNamedMax) members += (members.empty() ? "" : ", ") + name;
    }
    if (count > kNamedMax) members += " and " + std::to_string(count - kNamedMax) + " more";
    if (count > 0)
      return InUse("team", "users are in team " + team + ": " + members, "glim admin user set NAME --team OTHER");
    for (const auto& [group, numbers] : accounts.quotas) {
      if (group.subject != team || (group.of != QuotaOf::kTeam && group.of != QuotaOf::kTeamUser)) continue;
      return InUse("team", "team " + team + " has a quota",
                   CommandFor({QuotaRow{group, numbers.begin()->first, 0}, true}));
    }
    return Status::Ok();
  }

  Status operator()(const QuotaRow& row) const {
    const QuotaGroup& group = row.group;
    const bool named = group.of != QuotaOf::kDefaultUser && group.of != QuotaOf::kEverybody;
    if (named) {
      if (Status s = CheckName("subject", group.subject); !s.ok()) return s;
    } else if (!group.subject.empty()) {
      return InvalidArgument("subject", SubjectWord({group.of, ""}) + " has no name",
                             "leave '" + group.subject + "' out");
    }
    if (group.pool != kAllPools) {
      if (Status s = CheckName("pool", group.pool); !s.ok()) return s;
    }
    if (row.priority == PriorityClass::kAuto) {
      return InvalidArgument("class", "auto has no quota of its own", "name a class");
    }
    if (removed) {
      const auto it = accounts.quotas.find(group);
      if (it != accounts.quotas.end() && it->second.contains(row.priority)) return Status::Ok();
      return NoSuch("quota", "quota of " + InWords(group) + " at " + ToString(row.priority),
                    "glim admin quota list shows the quotas");
    }
    if (row.nodes > kQuotaNodesMax) {
      return InvalidArgument("nodes", std::to_string(row.nodes) + " is out of range",
                             "use 0 to " + std::to_string(kQuotaNodesMax));
    }
    const bool of_team = group.of == QuotaOf::kTeam || group.of == QuotaOf::kTeamUser;
    return of_team && !accounts.teams.contains(group.subject) ? NoSuchTeam("subject", group.subject) : Status::Ok();
  }

  Status operator()(const QuotaImport&) const { return Status::Ok(); }
};

// What happened, in words.
struct Words {
  const Accounts& before;
  bool removed;

  std::string operator()(const User& row) const {
    if (removed) return "user " + row.name + " removed";
    std::string teams;
    for (const std::string& team : row.teams) teams += (teams.empty() ? "" : ", ") + team;
    return "user " + row.name + (row.teams.empty() ? ": in no team" : ": teams " + teams);
  }
  std::string operator()(const Team& row) const {
    return "team " + row.name + (removed ? " removed" : ": weight " + std::to_string(row.weight));
  }
  std::string operator()(const QuotaRow& row) const {
    const auto group = before.quotas.find(row.group);
    std::string old;
    if (group != before.quotas.end()) {
      if (const auto it = group->second.find(row.priority); it != group->second.end()) {
        old = ", was " + std::to_string(it->second);
      }
    }
    const std::string what = "quota of " + InWords(row.group) + " at " + ToString(row.priority);
    return removed ? what + " removed" + old : what + ": " + std::to_string(row.nodes) + old;
  }
  std::string operator()(const QuotaImport&) const { return "quotas of the policy file imported"; }
};

HistoryKind KindOfChange(const AccountRow& row) {
  if (std::holds_alternative<User>(row)) return HistoryKind::kUserChanged;
  return std::holds_alternative<Team>(row) ? HistoryKind::kTeamChanged : HistoryKind::kQuotaChanged;
}

}  // namespace

void ApplyAccounts(Changes& changes, const ChangeAccounts& event) {
  Accounts after = changes.state().accounts();
  std::vector<AccountChange> done;
  std::vector<std::string> words;
  for (const AccountChange& change : event.changes) {
    if (Status s = std::visit(Checker{after, change.removed}, change.row); !s.ok()) {
      changes.reply().status = std::move(s);
      return;
    }
    const Accounts before = after;
    after.Change(change);
    if (after == before) continue;
    done.push_back(change);
    words.push_back(std::visit(Words{before, change.removed}, change.row));
  }
  for (std::size_t i = 0; i < done.size(); ++i) {
    changes.Note(KindOfChange(done[i].row), {}, {}, words[i] + (event.by.empty() ? "" : ", by " + event.by));
  }
  if (!done.empty()) changes.SetAccounts(std::move(after), std::move(done));
}

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
    std::string fix = "ask an operator for: " + CommandFor({QuotaRow{{QuotaOf::kUser, user}, priority, spec.nodes}});
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
