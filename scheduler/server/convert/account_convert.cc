#include "scheduler/server/convert/account_convert.h"

#include <algorithm>
#include <utility>

#include "scheduler/core/model/enum_words.h"
#include "sdk/base/printable.h"
#include "sdk/base/suggest.h"

namespace glim::server {
namespace {

// The field of a quota is its class, and `auto` is none.
Result<core::PriorityClass> ClassFromProto(const std::string& text) {
  const auto priority = core::ParsePriority(text);
  if (priority.ok() && *priority != core::PriorityClass::kAuto) return *priority;
  std::string all;
  std::vector<std::string_view> known;
  for (const auto& [value, name] : core::kEnumWords<core::PriorityClass>) {
    if (value == core::PriorityClass::kAuto) continue;
    all += (all.empty() ? "" : ", ") + std::string(name);
    known.push_back(name);
  }
  const std::string near = Nearest(text, known);
  return InvalidArgument(
      "class", priority.ok() ? "'auto' is no class of its own" : "'" + EscapedStart(text, 64) + "' is no class",
      (near.empty() ? "" : "did you mean '" + near + "'? ") + "use one of " + all);
}

}  // namespace

Result<core::QuotaRow> QuotaFromProto(const v1::AccountQuota& quota) {
  core::QuotaRow row;
  const auto of = core::FromWord<core::QuotaOf>(quota.of());
  if (!of) {
    return InvalidArgument("subject", "'" + EscapedStart(quota.of(), 64) + "' is no kind of quota",
                           "use user:NAME, team:NAME, team-user:NAME, default-user or everybody");
  }
  const auto priority = ClassFromProto(quota.priority());
  if (!priority.ok()) return priority.status();
  row.group = {*of, quota.subject(), quota.pool().empty() ? core::kAllPools : quota.pool()};
  row.priority = *priority;
  row.nodes = quota.nodes();
  return row;
}

core::Team TeamFromProto(const v1::AccountTeam& team) {
  core::Team row{team.name(), team.weight() == 0 ? core::kTeamWeight : team.weight()};
  row.pools.assign(team.pools().begin(), team.pools().end());
  row.default_pool = team.default_pool();
  return row;
}

Result<core::User> UserFromProto(const v1::AccountUser& user) {
  core::User row{user.name()};
  row.teams.assign(user.teams().begin(), user.teams().end());
  row.admin_of.assign(user.admin_of().begin(), user.admin_of().end());
  row.groups.assign(user.groups().begin(), user.groups().end());
  row.disabled = user.disabled();
  if (user.has_uid()) {
    row.uid = user.uid();
    if (user.gid() != 0 || user.uid() == 0) row.gid = user.gid();  // 0 is what is not said; root's is root's alone
  }
  if (user.role().empty()) return row;
  const auto role = core::FromWord<core::Role>(user.role());
  if (!role) {
    return InvalidArgument("role", "'" + EscapedStart(user.role(), 64) + "' is no role of a user",
                           "use viewer, user, operator or admin; and admin_of");
  }
  row.role = *role;  // which of them is a user's own the core says
  return row;
}

Result<core::AccountChange> AccountChangeFromProto(const v1::ChangeAccountRequest& request) {
  core::AccountChange change;
  change.removed = request.remove();
  switch (request.row_case()) {
    case v1::ChangeAccountRequest::kUser: {
      auto user = UserFromProto(request.user());
      if (!user.ok()) return user.status();
      change.row = std::move(user).value();
      return change;
    }
    case v1::ChangeAccountRequest::kTeam: change.row = TeamFromProto(request.team()); return change;
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
    for (const std::string& team : user.admin_of) added->add_admin_of(team);
    added->set_role(core::ToString(user.role));
    added->set_has_uid(user.uid.has_value());
    added->set_uid(user.uid.value_or(0));
    added->set_gid(user.gid.value_or(0));
    for (const std::uint32_t group : user.groups) added->add_groups(group);
    added->set_disabled(user.disabled);
  }
  for (const auto& [name, team] : accounts.teams) {
    v1::AccountTeam* added = out->add_teams();
    added->set_name(name);
    added->set_weight(team.weight);
    for (const std::string& pool : team.pools) added->add_pools(pool);
    added->set_default_pool(team.default_pool);
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
  const core::RowKey key = core::KeyOf(row);
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
