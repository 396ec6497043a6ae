#include "scheduler/server/door/authenticate.h"

#include <iterator>
#include <string_view>
#include <utility>

#include "scheduler/server/convert/rpc_status.h"
#include "sdk/tokens/opaque_token.h"

namespace glim::server {
namespace {

constexpr std::string_view kScheme = "Bearer ";

Status Unauthenticated(const char* reason, std::string message, std::string fix) {
  return Status(StatusCode::kUnauthenticated, std::move(message))
      .WithReason(reason)
      .WithField("authorization")
      .WithFix(std::move(fix));
}

constexpr char kLogIn[] = "log in again: glim login";

Status NoToken() {
  return Unauthenticated("NO_TOKEN", "the call has no token", "log in: glim login; or give GLIM_TOKEN_FILE");
}

Status BadToken(const char* what) { return Unauthenticated("BAD_TOKEN", what, kLogIn); }

}  // namespace

Status CallerOfRow(const Snapshot& snapshot, const core::TokenRow* row, TimePoint now, Caller* caller) {
  if (row == nullptr) return BadToken("the token does not count, or no more");
  const auto& users = snapshot.tables.accounts->users;
  const auto user = users.find(row->user);
  if (user == users.end()) return BadToken("the token's user is not registered any more");
  caller->user = row->user;
  caller->token = row->id;
  caller->origin = row->origin;
  caller->scope = row->scope;
  caller->expires_at = row->expires_at;
  caller->made_by = row->made_by;
  caller->attempt = row->attempt;
  caller->role = RoleInForce(*snapshot.tables.accounts, user->second, *row);
  caller->admin_of.clear();
  if (caller->role >= core::Role::kUser && !caller->IsJob()) caller->admin_of = user->second.admin_of;
  if (row->expires_at && row->expires_at <= now) {
    return Unauthenticated("TOKEN_EXPIRED", "the token has expired", kLogIn);
  }
  if (user->second.disabled) {
    return Unauthenticated("USER_DISABLED", "user " + row->user + " is disabled", "ask an operator");
  }
  return Status::Ok();
}

Status CallerByToken(const grpc::CallbackServerContext& context, const Snapshot& snapshot, TimePoint now,
                     Caller* caller) {
  const auto [begin, end] = context.client_metadata().equal_range("authorization");
  if (begin == end) return NoToken();
  if (std::next(begin) != end) return BadToken("the call has more than one token");
  return CallerByText({begin->second.data(), begin->second.size()}, snapshot, now, caller);
}

Status CallerByText(std::string_view text, const Snapshot& snapshot, TimePoint now, Caller* caller) {
  if (!text.starts_with(kScheme)) return BadToken("the metadata authorization is not 'Bearer TOKEN'");
  const auto token = ParseToken(text.substr(kScheme.size()));
  if (!token.ok()) return BadToken("the call's token is none of Glim's");
  caller->token = token->id;
  const core::TokenRow* const row = snapshot.tables.identity->tokens.Find(token->id);
  // Hashed and compared for an unknown id as well: how long the answer takes tells nothing.
  const bool same = SameHash(HashOf(token->secret), row != nullptr ? row->hash : std::string(kTokenHashDigits, '0'));
  return CallerOfRow(snapshot, row != nullptr && same ? row : nullptr, now, caller);
}

Status CallerByName(const grpc::CallbackServerContext& context, const Permission& row, Caller* caller) {
  caller->by_name = true;
  caller->role = core::Role::kAdmin;
  caller->scope = core::Scope::kAll;
  auto user = CallerOf(context);
  if (user.ok()) caller->user = std::move(user).value();
  const bool may_be_nameless = row.callers == Callers::kAnybody || row.method.starts_with("/glim.v1.AdminApi/") ||
                               row.method == "/glim.v1.ClientApi/GetVersion";
  return user.ok() || may_be_nameless ? Status::Ok() : user.status();
}

}  // namespace glim::server
