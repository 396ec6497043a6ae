// Accounts: users, teams and quotas, and the cluster's layout (layout.h), as rows that operators change while the
// scheduler runs (docs/policy.md, Quotas; docs/operations/layout.md).
//
// Values. A quota is what (subject, pool) gives: nodes by class. Rows are changed by the event ChangeAccounts alone.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "scheduler/core/model/layout.h"
#include "scheduler/core/model/roles.h"
#include "scheduler/core/model/row_key.h"
#include "scheduler/core/model/spec.h"

namespace glim::core {

struct User {
  std::string name;
  std::vector<std::string> teams{};     // the first is the default
  Role role = Role::kUser;              // kViewer, kUser, kOperator or kAdmin
  std::vector<std::string> admin_of{};  // teams, among `teams`
  // On the nodes, and on the hosts where users log in; nullopt: unknown, and no login socket knows the user.
  std::optional<std::uint32_t> uid{};
  std::optional<std::uint32_t> gid{};
  std::vector<std::uint32_t> groups{};
  bool disabled = false;  // no token of theirs counts, and no job of theirs starts; what runs runs on
  friend bool operator==(const User&, const User&) = default;
};

inline constexpr std::uint32_t kTeamWeight = 100;  // where none is given
inline constexpr std::uint32_t kTeamWeightMax = 1'000'000;

struct Team {
  std::string name;
  std::uint32_t weight = kTeamWeight;  // its service counts as service / weight
  std::vector<std::string> pools{};    // that its jobs may use; empty: all
  std::string default_pool{};          // of its jobs that name none; empty: as without a team
  friend bool operator==(const Team&, const Team&) = default;
};

// Whose quota it is. kTeamUser: each user of the team for themselves; kDefaultUser: each user for whom nothing nearer
// says anything; kEverybody: all users together.
enum class QuotaOf : std::uint8_t { kUser, kTeam, kTeamUser, kDefaultUser, kEverybody };
const char* ToString(QuotaOf of);

inline constexpr char kAllPools[] = "*";  // the sum over pools
inline constexpr std::uint32_t kQuotaNodesMax = 10'000'000;

struct QuotaGroup {
  QuotaOf of = QuotaOf::kUser;
  std::string subject;           // the user or the team; empty: kDefaultUser, kEverybody
  std::string pool = kAllPools;  // or one pool
  friend auto operator<=>(const QuotaGroup&, const QuotaGroup&) = default;
};

using ClassNumbers = std::map<PriorityClass, std::uint32_t>;

struct QuotaRow {
  QuotaGroup group;
  PriorityClass priority = PriorityClass::kNormal;  // never kAuto
  std::uint32_t nodes = 0;
  friend bool operator==(const QuotaRow&, const QuotaRow&) = default;
};

// The policy file's `quotas:` that became rows, as text: the same text is known again.
struct QuotaImport {
  std::string text;
  friend bool operator==(const QuotaImport&, const QuotaImport&) = default;
};

using AccountRow = std::variant<User, Team, QuotaRow, QuotaImport, PoolRow, ZoneRow, ZoneLink, LayoutImport>;

RowKey KeyOf(const AccountRow& row);

// Puts the row, or takes it away; of a row that goes only the key counts. A link's zones may come in either order.
struct AccountChange {
  AccountRow row;
  bool removed = false;
  friend bool operator==(const AccountChange&, const AccountChange&) = default;
};

struct Accounts {
  std::map<std::string, User> users;
  std::map<std::string, Team> teams;
  std::map<QuotaGroup, ClassNumbers> quotas;  // no group is empty
  std::string imported;                       // QuotaImport; empty: nothing was
  std::map<std::string, PoolRow> pools;
  std::map<std::string, ZoneRow> zones;
  Links links;
  std::string layout_imported;  // LayoutImport; empty: nothing was
  // Counted by Change: where nobody is barred, a planning pass looks nobody up.
  std::uint32_t users_disabled = 0;
  std::uint32_t teams_with_pools = 0;
  std::uint32_t users_with_system_ids = 0;  // task_user.h
  void Change(const AccountChange& change);
  bool Has(const AccountRow& row) const;  // the very same
  std::vector<AccountRow> Rows() const;
  std::uint32_t WeightOf(const std::string& team) const;
  friend bool operator==(const Accounts&, const Accounts&) = default;
};

// 1 to 64 characters of A-Z a-z 0-9 . _ -
bool IsAccountName(const std::string& name);

// "user kim", "each user of team vision in pool a100".
std::string InWords(const QuotaGroup& group);
// What the numbers of one quota mean, class by class: "at most 8 nodes at normal and above; above high: not allowed;
// below normal: no limit".
std::string MeaningOf(const ClassNumbers& numbers);
// As an operator writes them: "user:kim", "team-user:vision", "default-user".
std::string SubjectWord(const QuotaGroup& group);
// The command line that makes the change: "glim admin quota set user:kim high 4 --pool a100".
std::string CommandFor(const AccountChange& change);

}  // namespace glim::core
