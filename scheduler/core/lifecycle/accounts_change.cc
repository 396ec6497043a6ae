#include "scheduler/core/lifecycle/accounts_change.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "scheduler/core/lifecycle/claim_review.h"
#include "scheduler/core/lifecycle/identity_change.h"
#include "scheduler/core/lifecycle/layout_rules.h"
#include "scheduler/core/lifecycle/link_review.h"
#include "scheduler/core/lifecycle/seen.h"
#include "scheduler/core/model/task_ids.h"

namespace glim::core {
namespace {

constexpr std::size_t kNamedMax = 3;
constexpr std::size_t kGroupsMax = 1024;  // they are in each attempt of the user's, and in each launch

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

// Who has which uid, gone through once an event: a login socket tells users by it, so that no two may share one.
class Uids {
 public:
  explicit Uids(const Accounts& accounts) : accounts_(accounts) {}
  // The other user who has it; empty: nobody.
  std::string OtherWith(std::uint32_t uid, const std::string& name) {
    if (!gathered_) {
      for (const auto& [other, user] : accounts_.users) {
        if (user.uid) of_.emplace(*user.uid, other);
      }
      gathered_ = true;
    }
    const auto it = of_.find(uid);
    if (it == of_.end() || it->second == name) return "";
    const auto user = accounts_.users.find(it->second);  // it may have another one by now
    return user != accounts_.users.end() && user->second.uid == uid ? it->second : "";
  }
  void Take(const User& user) {
    if (user.uid) of_[*user.uid] = user.name;
  }

 private:
  const Accounts& accounts_;
  std::map<std::uint32_t, std::string> of_;
  bool gathered_ = false;
};

// Looks at one change on the accounts as the changes before it leave them.
struct Checker {
  const ClusterState& state;
  const Accounts& accounts;
  Uids& uids;
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
    if (Status s = CheckRole(row); !s.ok()) return s;
    if (Status s = CheckNotRoots(row); !s.ok()) return s;
    if (Status s = CheckGids(row); !s.ok()) return s;
    return row.uid ? CheckUid(row) : Status::Ok();
  }

  // What a row has had since before this was refused is no reason to refuse another change, such as disabling the user.
  Status CheckNotRoots(const User& row) const {
    const auto old = accounts.users.find(row.name);
    const User before = old == accounts.users.end() ? User{} : old->second;
    const auto refuse = [](const char* field, const char* fix) {
      return InvalidArgument(field, "0 is root's, which no task has", fix);
    };
    const auto has_roots = [](const User& user) { return std::count(user.groups.begin(), user.groups.end(), 0U) > 0; };
    if (row.uid == 0U && before.uid != 0U) return refuse("uid", "give the user's own, or none");
    if (row.gid == 0U && before.gid != 0U) return refuse("gid", "give the user's own, or none");
    if (has_roots(row) && !has_roots(before)) return refuse("groups", "leave it out");
    return Status::Ok();
  }

  static Status CheckRole(const User& row) {
    if (row.role == Role::kNone || row.role == Role::kTeamAdmin) {
      return InvalidArgument("role", "is no role of a user", "use viewer, user, operator or admin; and admin_of");
    }
    for (const std::string& team : row.admin_of) {
      if (std::find(row.teams.begin(), row.teams.end(), team) != row.teams.end()) continue;
      return InvalidArgument("admin_of", "user " + row.name + " is not in team " + team,
                             "put the user into that team as well");
    }
    return Status::Ok();
  }

  // A task is its user with all three, or not at all.
  static Status CheckGids(const User& row) {
    if (row.uid && !row.gid) {
      return InvalidArgument("gid", "is missing: a uid needs a gid",
                             "give the user's own: glim admin user set " + row.name + " --gid N");
    }
    if (row.gid) {
      if (Status s = CheckMayBeAUsers("gid", *row.gid, "give the user's own"); !s.ok()) return s;
    }
    if (row.groups.size() > kGroupsMax) {
      return InvalidArgument("groups", std::to_string(row.groups.size()) + " are too many",
                             "give at most " + std::to_string(kGroupsMax) + ": those that tasks need");
    }
    for (const std::uint32_t group : row.groups) {
      if (Status s = CheckMayBeAUsers("groups", group, "leave it out"); !s.ok()) return s;
    }
    return Status::Ok();
  }

  static Status CheckMayBeAUsers(const char* field, std::uint32_t id, const char* fix) {
    const std::string_view why = NoUsersId(id);
    return why.empty() ? Status::Ok() : InvalidArgument(field, std::to_string(id) + std::string(why), fix);
  }

  Status CheckUid(const User& row) const {
    if (Status s = CheckMayBeAUsers("uid", *row.uid, "give the user's own"); !s.ok()) return s;
    const std::string other = uids.OtherWith(*row.uid, row.name);
    if (other.empty()) return Status::Ok();
    return Status(StatusCode::kAlreadyExists, "uid: " + std::to_string(*row.uid) + " is user " + other + "'s")
        .WithReason("UID_TAKEN")
        .WithField("uid")
        .WithFix("give the user's own, or remove " + other);
  }

  Status operator()(const Team& row) const {
    if (Status s = CheckName("team", row.name); !s.ok()) return s;
    if (removed) return CheckGone(row.name);
    if (row.weight < 1 || row.weight > kTeamWeightMax) {
      return InvalidArgument("weight", std::to_string(row.weight) + " is out of range",
                             "use 1 to " + std::to_string(kTeamWeightMax));
    }
    return CheckPools(row);
  }

  static Status CheckPools(const Team& row) {
    for (const std::string& pool : row.pools) {
      if (Status s = CheckName("pools", pool); !s.ok()) return s;
      if (std::count(row.pools.begin(), row.pools.end(), pool) > 1) {
        return InvalidArgument("pools", "pool " + pool + " is given twice", "keep one");
      }
    }
    if (row.default_pool.empty()) return Status::Ok();
    if (Status s = CheckName("default_pool", row.default_pool); !s.ok()) return s;
    const bool allowed =
        row.pools.empty() || std::find(row.pools.begin(), row.pools.end(), row.default_pool) != row.pools.end();
    return allowed ? Status::Ok()
                   : InvalidArgument("default_pool", "team " + row.name + " may not use pool " + row.default_pool,
                                     "add it to the team's pools, or choose one of them");
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
    return CheckNoneReserved(team);
  }

  // Its reservations would be nobody's: no job could be of its team.
  Status CheckNoneReserved(const std::string& team) const {
    std::string names, first;
    state.tables().reservations.ForEach([&](const std::string& name, const Reservation& row) {
      if (row.team != team) return;
      if (first.empty()) first = name;
      names += (names.empty() ? "" : ", ") + name;
    });
    if (first.empty()) return Status::Ok();
    return InUse("team", "nodes are reserved for team " + team + ": " + names, "glim admin reserve rm " + first);
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
  Status operator()(const PoolRow& row) const { return CheckPool(state, accounts, row, removed); }
  Status operator()(const ZoneRow& row) const { return CheckZone(state, accounts, row, removed); }
  Status operator()(const ZoneLink& row) const { return CheckLink(accounts, row, removed); }
  Status operator()(const LayoutImport&) const { return Status::Ok(); }
};

std::string Listed(const std::vector<std::string>& names, const char* between = ", ") {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : between) + name;
  return text;
}

bool HasAdmin(const Accounts& accounts) {
  return std::any_of(accounts.users.begin(), accounts.users.end(),
                     [](const auto& user) { return user.second.role == Role::kAdmin && !user.second.disabled; });
}

// Nobody could make the next one but with the scheduler's own key.
Status CheckAdminStays(const Accounts& before, const Accounts& after) {
  if (!HasAdmin(before) || HasAdmin(after)) return Status::Ok();
  return Status(StatusCode::kFailedPrecondition, "role: the last administrator would be gone")
      .WithReason("LAST_ADMIN")
      .WithField("role")
      .WithFix("make another first: glim admin user set NAME --role admin");
}

// What happened, in words.
struct Words {
  const Accounts& before;
  bool removed;

  std::string operator()(const User& row) const {
    if (removed) return "user " + row.name + " removed";
    std::string words = "user " + row.name + (row.teams.empty() ? ": in no team" : ": teams " + Listed(row.teams));
    if (row.role != Role::kUser) words += std::string(", role ") + ToString(row.role);
    if (!row.admin_of.empty()) words += ", admin of " + Listed(row.admin_of);
    return words + (row.disabled ? ", disabled" : "");
  }
  std::string operator()(const Team& row) const {
    if (removed) return "team " + row.name + " removed";
    std::string words = "team " + row.name + ": weight " + std::to_string(row.weight);
    if (!row.pools.empty()) words += ", pools " + Listed(row.pools);
    return words + (row.default_pool.empty() ? "" : ", default pool " + row.default_pool);
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
  std::string operator()(const PoolRow& row) const {
    return "pool " + row.name + (removed ? " removed" : ": " + LayoutInWords(row));
  }
  std::string operator()(const ZoneRow& row) const {
    return "zone " + row.name + (removed ? " removed" : ": " + LayoutInWords(row));
  }
  std::string operator()(const ZoneLink& row) const {
    const auto old = before.links.find(LinkOf(row));
    const std::string was = old == before.links.end() ? "" : ", was " + LayoutInWords(old->second);
    const std::string what = "link " + row.zone_a + "-" + row.zone_b;
    return what + (removed ? " removed" : ": " + LayoutInWords(row)) + was;
  }
  std::string operator()(const LayoutImport&) const { return "pools, zones and links of the policy file imported"; }
};

HistoryKind KindOfChange(const AccountRow& row) {
  if (std::holds_alternative<User>(row)) return HistoryKind::kUserChanged;
  if (std::holds_alternative<Team>(row)) return HistoryKind::kTeamChanged;
  const bool quota = std::holds_alternative<QuotaRow>(row) || std::holds_alternative<QuotaImport>(row);
  return quota ? HistoryKind::kQuotaChanged : HistoryKind::kLayoutChanged;
}

}  // namespace

void ApplyAccounts(Changes& changes, const ChangeAccounts& event) {
  if (event.expected && event.expected != changes.state().tables().accounts) {
    changes.reply().status = ChangedMeanwhile("one of the rows of users, teams, quotas, pools, zones and links");
    return;
  }
  Accounts after = changes.state().accounts();
  Uids uids(after);
  std::vector<AccountChange> done;
  std::vector<std::string> words, gone;
  for (const AccountChange& change : event.changes) {
    if (Status s = std::visit(Checker{changes.state(), after, uids, change.removed}, change.row); !s.ok()) {
      changes.reply().status = std::move(s);
      return;
    }
    if (!change.removed && after.Has(change.row)) continue;
    words.push_back(std::visit(Words{after, change.removed}, change.row));
    done.push_back(change);
    after.Change(change);
    if (const auto* user = std::get_if<User>(&change.row)) {
      change.removed ? gone.push_back(user->name) : uids.Take(*user);
    }
  }
  if (Status s = CheckAdminStays(changes.state().accounts(), after); !s.ok()) {
    changes.reply().status = std::move(s);
    return;
  }
  if (event.dry_run) return;
  // Whoever went and came back in one event is there.
  std::erase_if(gone, [&](const std::string& name) { return after.users.contains(name); });
  for (std::size_t i = 0; i < done.size(); ++i) {
    changes.Note(KindOfChange(done[i].row), {}, {}, words[i] + (event.by.empty() ? "" : ", by " + event.by));
  }
  if (done.empty()) return;
  const bool relinked = after.links != changes.state().accounts().links;
  const std::string meaning = MeaningOfLinks(changes.state().accounts().links, after.links);
  if (!meaning.empty()) changes.Note(HistoryKind::kLayoutChanged, {}, {}, meaning);
  changes.SetAccounts(std::move(after), std::move(done));
  ForgetUsers(changes, gone);
  ReviewClaims(changes);
  if (relinked) ReviewLinks(changes);
}

}  // namespace glim::core
