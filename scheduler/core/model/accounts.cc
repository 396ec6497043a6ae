#include "scheduler/core/model/accounts.h"

#include <algorithm>

#include "scheduler/core/model/task_ids.h"

namespace glim::core {
namespace {

constexpr std::size_t kNameMax = 64;

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

std::string NodesText(std::uint32_t nodes) { return std::to_string(nodes) + (nodes == 1 ? " node" : " nodes"); }

struct Key {
  RowKey operator()(const User& row) const { return {"user", row.name}; }
  RowKey operator()(const Team& row) const { return {"team", row.name}; }
  RowKey operator()(const QuotaRow& row) const {
    const QuotaGroup& group = row.group;
    return {"quota", std::string(ToString(group.of)) + "/" + group.subject + "/" + group.pool + "/" +
                         std::string(ToString(row.priority))};
  }
  RowKey operator()(const QuotaImport&) const { return {"import", "quotas"}; }
  RowKey operator()(const PoolRow& row) const { return {"pool", row.name}; }
  RowKey operator()(const ZoneRow& row) const { return {"zone", row.name}; }
  RowKey operator()(const ZoneLink& row) const {
    const auto [a, b] = LinkOf(row);
    return {"link", a + "/" + b};
  }
  RowKey operator()(const LayoutImport&) const { return {"import", "layout"}; }
};

// Would this user's ids need a word of the policy's? Most users' do not.
bool HasSystemIds(const User& user) {
  const auto is_odd = [](std::uint32_t id) { return id < kOwnIdsFrom || IsNeverATasks(id); };
  return (user.uid && is_odd(*user.uid)) || (user.gid && is_odd(*user.gid)) ||
         std::any_of(user.groups.begin(), user.groups.end(), is_odd);
}

// Who asks for the link of B and A means that of A and B.
ZoneLink InOrder(const ZoneLink& link) {
  const auto [a, b] = LinkOf(link);
  return {a, b, link.jobs_max, link.pairs_max};
}

template <typename Rows, typename Name, typename Row>
bool HasRow(const Rows& rows, const Name& name, const Row& row) {
  const auto it = rows.find(name);
  return it != rows.end() && it->second == row;
}

struct Changer {
  Accounts& accounts;
  bool removed;
  void operator()(const User& row) const {
    const auto old = accounts.users.find(row.name);
    if (old != accounts.users.end() && old->second.disabled) --accounts.users_disabled;
    if (old != accounts.users.end() && HasSystemIds(old->second)) --accounts.users_with_system_ids;
    if (removed) {
      accounts.users.erase(row.name);
    } else {
      accounts.users[row.name] = row;
      if (row.disabled) ++accounts.users_disabled;
      if (HasSystemIds(row)) ++accounts.users_with_system_ids;
    }
  }
  void operator()(const Team& row) const {
    const auto old = accounts.teams.find(row.name);
    if (old != accounts.teams.end() && !old->second.pools.empty()) --accounts.teams_with_pools;
    if (removed) {
      accounts.teams.erase(row.name);
    } else {
      accounts.teams[row.name] = row;
      if (!row.pools.empty()) ++accounts.teams_with_pools;
    }
  }
  void operator()(const QuotaRow& row) const {
    ClassNumbers& numbers = accounts.quotas[row.group];
    if (removed) {
      numbers.erase(row.priority);
    } else {
      numbers[row.priority] = row.nodes;
    }
    if (numbers.empty()) accounts.quotas.erase(row.group);
  }
  void operator()(const QuotaImport& row) const { accounts.imported = removed ? "" : row.text; }
  void operator()(const PoolRow& row) const { Put(accounts.pools, row.name, row); }
  void operator()(const ZoneRow& row) const { Put(accounts.zones, row.name, row); }
  void operator()(const ZoneLink& row) const { Put(accounts.links, LinkOf(row), InOrder(row)); }
  void operator()(const LayoutImport& row) const { accounts.layout_imported = removed ? "" : row.text; }

  template <typename Rows, typename Name, typename Row>
  void Put(Rows& rows, const Name& name, const Row& row) const {
    if (removed) {
      rows.erase(name);
    } else {
      rows[name] = row;
    }
  }
};

struct Finder {
  const Accounts& accounts;
  bool operator()(const User& row) const { return HasRow(accounts.users, row.name, row); }
  bool operator()(const Team& row) const { return HasRow(accounts.teams, row.name, row); }
  bool operator()(const QuotaRow& row) const {
    const auto it = accounts.quotas.find(row.group);
    if (it == accounts.quotas.end()) return false;
    const auto number = it->second.find(row.priority);
    return number != it->second.end() && number->second == row.nodes;
  }
  bool operator()(const QuotaImport& row) const { return accounts.imported == row.text; }
  bool operator()(const PoolRow& row) const { return HasRow(accounts.pools, row.name, row); }
  bool operator()(const ZoneRow& row) const { return HasRow(accounts.zones, row.name, row); }
  bool operator()(const ZoneLink& row) const { return HasRow(accounts.links, LinkOf(row), InOrder(row)); }
  bool operator()(const LayoutImport& row) const { return accounts.layout_imported == row.text; }
};

struct Command {
  bool removed;
  std::string operator()(const User& row) const {
    std::string text = std::string("glim admin user ") + (removed ? "remove " : "set ") + row.name;
    std::string teams;
    for (const std::string& team : row.teams) teams += (teams.empty() ? " --team " : ",") + team;
    return removed ? text : text + teams;
  }
  std::string operator()(const Team& row) const {
    const std::string weight = removed ? "" : " --weight " + std::to_string(row.weight);
    return std::string("glim admin team ") + (removed ? "remove " : "set ") + row.name + weight;
  }
  std::string operator()(const QuotaRow& row) const {
    std::string text = std::string("glim admin quota ") + (removed ? "remove " : "set ") + SubjectWord(row.group) +
                       " " + ToString(row.priority);
    if (!removed) text += " " + std::to_string(row.nodes);
    return row.group.pool == kAllPools ? text : text + " --pool " + row.group.pool;
  }
  std::string operator()(const QuotaImport&) const { return ""; }
  std::string operator()(const PoolRow& row) const { return "glim admin pool " + Verb() + row.name; }
  std::string operator()(const ZoneRow& row) const { return "glim admin zone " + Verb() + row.name; }
  std::string operator()(const ZoneLink& row) const {
    std::string text = "glim admin link " + Verb() + row.zone_a + " " + row.zone_b;
    if (removed) return text;
    return text + " --jobs-max " + std::to_string(row.jobs_max) + " --pairs-max " + std::to_string(row.pairs_max);
  }
  std::string operator()(const LayoutImport&) const { return ""; }
  std::string Verb() const { return removed ? "rm " : "set "; }
};

}  // namespace

RowKey KeyOf(const AccountRow& row) { return std::visit(Key{}, row); }

void Accounts::Change(const AccountChange& change) { std::visit(Changer{*this, change.removed}, change.row); }

bool Accounts::Has(const AccountRow& row) const { return std::visit(Finder{*this}, row); }

std::vector<AccountRow> Accounts::Rows() const {
  std::vector<AccountRow> rows;
  for (const auto& [name, team] : teams) rows.emplace_back(team);
  for (const auto& [name, user] : users) rows.emplace_back(user);
  for (const auto& [group, numbers] : quotas) {
    for (const auto& [priority, nodes] : numbers) rows.emplace_back(QuotaRow{group, priority, nodes});
  }
  if (!imported.empty()) rows.emplace_back(QuotaImport{imported});
  for (const auto& [name, pool] : pools) rows.emplace_back(pool);
  for (const auto& [name, zone] : zones) rows.emplace_back(zone);
  for (const auto& [ends, link] : links) rows.emplace_back(link);
  if (!layout_imported.empty()) rows.emplace_back(LayoutImport{layout_imported});
  return rows;
}

std::uint32_t Accounts::WeightOf(const std::string& team) const {
  const auto it = teams.find(team);
  return it == teams.end() ? kTeamWeight : std::max<std::uint32_t>(it->second.weight, 1);
}

bool IsAccountName(const std::string& name) {
  return !name.empty() && name.size() <= kNameMax && std::all_of(name.begin(), name.end(), IsNameCharacter);
}

std::string InWords(const QuotaGroup& group) {
  const std::string where = group.pool == kAllPools ? "" : " in pool " + group.pool;
  switch (group.of) {
    case QuotaOf::kUser: return "user " + group.subject + where;
    case QuotaOf::kTeam: return "team " + group.subject + where;
    case QuotaOf::kTeamUser: return "each user of team " + group.subject + where;
    case QuotaOf::kDefaultUser: return "each user without a quota of their own" + where;
    case QuotaOf::kEverybody: return "everybody together" + where;
  }
  return "";
}

std::string MeaningOf(const ClassNumbers& numbers) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  bool barred = false;
  for (const auto& [priority, nodes] : numbers) {
    barred = nodes == 0;
    add(barred ? std::string(ToString(priority)) + " and above: not allowed"
               : "at most " + NodesText(nodes) + " at " + ToString(priority) + " and above");
    if (barred) break;
  }
  if (numbers.empty()) return "no limit";
  const PriorityClass highest = numbers.rbegin()->first, lowest = numbers.begin()->first;
  if (!barred && highest != PriorityClass::kExtremeHigh)
    add(std::string("above ") + ToString(highest) + ": not allowed");
  if (lowest != PriorityClass::kLow) add(std::string("below ") + ToString(lowest) + ": no limit");
  return text;
}

std::string SubjectWord(const QuotaGroup& group) {
  std::string word = ToString(group.of);
  std::replace(word.begin(), word.end(), '_', '-');
  return group.subject.empty() ? word : word + ":" + group.subject;
}

std::string CommandFor(const AccountChange& change) { return std::visit(Command{change.removed}, change.row); }

}  // namespace glim::core
