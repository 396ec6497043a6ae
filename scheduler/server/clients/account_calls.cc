#include "scheduler/server/clients/account_calls.h"

#include <variant>

#include "scheduler/core/lifecycle/layout_rules.h"
#include "scheduler/server/door/door.h"
#include "scheduler/server/door/private_parts.h"

namespace glim::server {
namespace {

template <typename Names>
std::string Listed(const Names& names) {
  std::string text;
  for (const auto& name : names) {
    text += text.empty() ? "" : ", ";
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(name)>>) {
      text += std::to_string(name);
    } else {
      text += name;
    }
  }
  return text.empty() ? "none" : text;
}

struct RowWords {
  std::string operator()(const core::User& row) const {
    std::string words = std::string("role ") + core::ToString(row.role) + "; teams " + Listed(row.teams);
    if (!row.admin_of.empty()) words += "; admin of " + Listed(row.admin_of);
    if (row.uid) words += "; uid " + std::to_string(*row.uid);
    if (row.gid) words += "; gid " + std::to_string(*row.gid);
    if (!row.groups.empty()) words += "; groups " + Listed(row.groups);
    return words + (row.disabled ? "; disabled" : "");
  }
  std::string operator()(const core::Team& row) const {
    std::string words = "weight " + std::to_string(row.weight);
    if (!row.pools.empty()) words += "; pools " + Listed(row.pools);
    return words + (row.default_pool.empty() ? "" : "; default pool " + row.default_pool);
  }
  std::string operator()(const core::QuotaRow& row) const { return std::to_string(row.nodes) + " nodes"; }
  std::string operator()(const core::QuotaImport&) const { return "of the policy"; }
  std::string operator()(const core::PoolRow& row) const { return core::LayoutInWords(row); }
  std::string operator()(const core::ZoneRow& row) const { return core::LayoutInWords(row); }
  std::string operator()(const core::ZoneLink& row) const { return core::LayoutInWords(row); }
  std::string operator()(const core::LayoutImport&) const { return "of the policy"; }
};

Status AdminAlone(const char* field, std::string what) {
  return PermissionDenied("ROLE", std::string(field) + ": " + std::move(what) + " is changed by an admin alone",
                          "ask an admin")
      .WithField(field);
}

}  // namespace

Status CheckMayChange(const Caller& caller, const core::Accounts& accounts, const core::AccountChange& change) {
  const auto* const row = std::get_if<core::User>(&change.row);
  if (row == nullptr || caller.IsAdmin()) return Status::Ok();
  const auto at = accounts.users.find(row->name);
  const bool there = at != accounts.users.end();
  if (there && at->second.role >= core::Role::kOperator) {
    return AdminAlone("user", "the row of " + row->name + ", who is " + core::ToString(at->second.role) + ",");
  }
  if (change.removed) return Status::Ok();
  if (there ? row->role != at->second.role : row->role >= core::Role::kOperator) {
    return AdminAlone("role", "the role of user " + row->name);
  }
  return Status::Ok();
}

Status CheckHasName(const std::string& user) {
  if (!user.empty()) return Status::Ok();
  return Status(StatusCode::kUnauthenticated, "the call does not say who asks")
      .WithReason("NO_USER")
      .WithField("glim-user")
      .WithFix("send metadata glim-user");
}

Status CheckNamed(const KnownNames& known, const core::AccountChange& change) {
  if (change.removed) return Status::Ok();
  if (const auto* const team = std::get_if<core::Team>(&change.row)) {
    for (const std::string& pool : team->pools) {
      if (Status s = CheckIsKnown(false, "pool", pool, known.pools); !s.ok()) return s;
    }
    return team->default_pool.empty() ? Status::Ok() : CheckIsKnown(false, "pool", team->default_pool, known.pools);
  }
  if (const auto* const link = std::get_if<core::ZoneLink>(&change.row)) {
    if (Status s = CheckIsKnown(true, "zone_a", link->zone_a, known.zones); !s.ok()) return s;
    return CheckIsKnown(true, "zone_b", link->zone_b, known.zones);
  }
  const auto* const quota = std::get_if<core::QuotaRow>(&change.row);
  if (quota == nullptr || quota->group.pool == core::kAllPools) return Status::Ok();
  return CheckIsKnown(false, "pool", quota->group.pool, known.pools);
}

std::string ObjectOf(const core::AccountRow& row) {
  const core::RowKey key = core::KeyOf(row);
  return key.kind + " " + key.name;
}

std::string RowInWords(const core::AccountRow& row) { return std::visit(RowWords{}, row); }

std::string RowNow(const core::Accounts& accounts, const core::AccountRow& row) {
  if (const auto* const user = std::get_if<core::User>(&row)) {
    const auto at = accounts.users.find(user->name);
    return at == accounts.users.end() ? "" : RowWords{}(at->second);
  }
  if (const auto* const team = std::get_if<core::Team>(&row)) {
    const auto at = accounts.teams.find(team->name);
    return at == accounts.teams.end() ? "" : RowWords{}(at->second);
  }
  if (const auto* const pool = std::get_if<core::PoolRow>(&row)) {
    const auto at = accounts.pools.find(pool->name);
    return at == accounts.pools.end() ? "" : RowWords{}(at->second);
  }
  if (const auto* const zone = std::get_if<core::ZoneRow>(&row)) {
    const auto at = accounts.zones.find(zone->name);
    return at == accounts.zones.end() ? "" : RowWords{}(at->second);
  }
  if (const auto* const link = std::get_if<core::ZoneLink>(&row)) {
    const auto at = accounts.links.find(core::LinkOf(*link));
    return at == accounts.links.end() ? "" : RowWords{}(at->second);
  }
  const auto* const quota = std::get_if<core::QuotaRow>(&row);
  if (quota == nullptr) return "";
  const auto at = accounts.quotas.find(quota->group);
  if (at == accounts.quotas.end()) return "";
  const auto number = at->second.find(quota->priority);
  return number == at->second.end() ? "" : RowWords{}(core::QuotaRow{quota->group, quota->priority, number->second});
}

void HidePrivateParts(const Caller& caller, v1::ListAccountsResponse* accounts) {
  if (caller.IsOperator()) return;
  for (v1::AccountUser& user : *accounts->mutable_users()) {
    if (user.name() != caller.user) RemovePrivateParts(&user);
  }
}

}  // namespace glim::server
