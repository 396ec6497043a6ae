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
  Table table({{"USER"}, {"TEAMS", false, 100}});
  for (const auto& user : accounts.users()) {
    const std::vector<std::string> teams(user.teams().begin(), user.teams().end());
    table.AddRow({user.name(), teams.empty() ? "-" : fmt::format("{}", fmt::join(teams, ", "))});
  }
  return table.Render(colour);
}

std::string TeamsTable(const glim::v1::ListAccountsResponse& accounts, bool colour) {
  Table table({{"TEAM"}, {"WEIGHT", true}, {"USERS", true}});
  for (const auto& team : accounts.teams()) {
    const auto users = std::count_if(accounts.users().begin(), accounts.users().end(), [&](const auto& user) {
      return std::find(user.teams().begin(), user.teams().end(), team.name()) != user.teams().end();
    });
    table.AddRow({team.name(), std::to_string(team.weight()), std::to_string(users)});
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
