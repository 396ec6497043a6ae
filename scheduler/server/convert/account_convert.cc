#include "scheduler/server/convert/account_convert.h"

#include <algorithm>
#include <utility>

#include "scheduler/core/model/enum_words.h"
#include "sdk/base/printable.h"

namespace glim::server {
namespace {

Result<core::AccountRow> QuotaFromProto(const v1::AccountQuota& quota) {
  core::QuotaRow row;
  const auto of = core::FromWord<core::QuotaOf>(quota.of());
  if (!of) {
    return InvalidArgument("subject", "'" + EscapedStart(quota.of(), 64) + "' is no kind of quota",
                           "use user:NAME, team:NAME, team-user:NAME, default-user or everybody");
  }
  auto priority = core::ParsePriority(quota.priority());
  if (!priority.ok()) return std::move(priority).status();
  row.group = {*of, quota.subject(), quota.pool().empty() ? core::kAllPools : quota.pool()};
  row.priority = *priority;
  row.nodes = quota.nodes();
  return core::AccountRow(std::move(row));
}

}  // namespace

Result<core::AccountChange> AccountChangeFromProto(const v1::ChangeAccountRequest& request) {
  core::AccountChange change;
  change.removed = request.remove();
  switch (request.row_case()) {
    case v1::ChangeAccountRequest::kUser: {
      core::User user{request.user().name(), {}};
      user.teams.assign(request.user().teams().begin(), request.user().teams().end());
      change.row = std::move(user);
      return change;
    }
    case v1::ChangeAccountRequest::kTeam: {
      const std::uint32_t weight = request.team().weight();
      change.row = core::Team{request.team().name(), weight == 0 ? core::kTeamWeight : weight};
      return change;
    }
    case v1::ChangeAccountRequest::kQuota: {
      auto row = QuotaFromProto(request.quota());
      if (!row.ok()) return row.status();
      change.row = std::move(row).value();
      return change;
    }
    case v1::ChangeAccountRequest::ROW_NOT_SET: break;
  }
  return InvalidArgument("row", "is missing", "say which user, team or quota");
}

void AccountsToProto(const core::Accounts& accounts, v1::ListAccountsResponse* out) {
  for (const auto& [name, user] : accounts.users) {
    v1::AccountUser* added = out->add_users();
    added->set_name(name);
    for (const std::string& team : user.teams) added->add_teams(team);
  }
  for (const auto& [name, team] : accounts.teams) {
    v1::AccountTeam* added = out->add_teams();
    added->set_name(name);
    added->set_weight(team.weight);
  }
  for (const auto& [group, numbers] : accounts.quotas) {
    for (const auto& [priority, nodes] : numbers) {
      v1::AccountQuota* added = out->add_quotas();
      added->set_of(core::ToString(group.of));
      added->set_subject(group.subject);
      added->set_pool(group.pool);
      added->set_priority(core::ToString(priority));
      added->set_nodes(nodes);
      added->set_meaning(core::MeaningOf(numbers));
    }
  }
}

Status CheckIsNew(const core::Accounts& accounts, const core::AccountRow& row) {
  const core::AccountKey key = core::KeyOf(row);
  const auto rows = accounts.Rows();
  const bool there =
      std::any_of(rows.begin(), rows.end(), [&](const core::AccountRow& one) { return core::KeyOf(one) == key; });
  if (!there) return Status::Ok();
  return Status(StatusCode::kAlreadyExists, key.kind + ": " + key.kind + " " + key.name + " is there already")
      .WithReason("ACCOUNT_EXISTS")
      .WithField(key.kind)
      .WithFix("change it with: glim admin " + key.kind + " set");
}

}  // namespace glim::server
