#include "cli/views/accounts_view.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/text/render_table.h"

namespace glim::cli {
namespace {

std::string SubjectOf(const glim::v1::AccountQuota& quota) {
  std::string of = quota.of();
  std::replace(of.begin(), of.end(), '_', '-');
  return quota.subject().empty() ? of : of + ":" + quota.subject();
}

}  // namespace

std::string UsersTable(const glim::v1::ListAccountsResponse& accounts, bool colour) {
  Table table({{"USER"}, {"ROLE"}, {"UID", true}, {"TEAMS", false, 100}, {"NOTE"}});
  for (const auto& user : accounts.users()) {
    const std::vector<std::string> teams(user.teams().begin(), user.teams().end());
    std::string note = user.disabled() ? "disabled" : "";
    if (user.admin_of_size() > 0) {
      note += fmt::format("{}admin of {}", note.empty() ? "" : ", ", fmt::join(user.admin_of(), ", "));
    }
    table.AddRow({user.name(), user.role().empty() ? "user" : user.role(),
                  user.has_uid() ? std::to_string(user.uid()) : "-",
                  teams.empty() ? "-" : fmt::format("{}", fmt::join(teams, ", ")), note});
  }
  return table.Render(colour);
}

std::string TeamsTable(const glim::v1::ListAccountsResponse& accounts, bool colour) {
  Table table({{"TEAM"}, {"WEIGHT", true}, {"USERS", true}, {"POOLS", false, 60}, {"BY DEFAULT"}});
  for (const auto& team : accounts.teams()) {
    const auto users = std::count_if(accounts.users().begin(), accounts.users().end(), [&](const auto& user) {
      return std::find(user.teams().begin(), user.teams().end(), team.name()) != user.teams().end();
    });
    const std::string pools = team.pools_size() == 0 ? "all" : fmt::format("{}", fmt::join(team.pools(), ", "));
    table.AddRow({team.name(), std::to_string(team.weight()), std::to_string(users), pools,
                  team.default_pool().empty() ? "-" : team.default_pool()});
  }
  return table.Render(colour);
}

std::string QuotasTable(const glim::v1::ListAccountsResponse& accounts, bool colour) {
  Table table({{"SUBJECT", false, 80}, {"POOL"}, {"CLASS"}, {"NODES", true}, {"MEANING", false, 200}});
  std::string before;
  for (const auto& quota : accounts.quotas()) {
    const std::string group = SubjectOf(quota) + " " + quota.pool();
    table.AddRow({SubjectOf(quota), quota.pool(), quota.priority(), std::to_string(quota.nodes()),
                  group == before ? "" : quota.meaning()});
    before = group;
  }
  return table.Render(colour);
}

}  // namespace glim::cli
