#include "scheduler/server/clients/token_calls.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/server/clients/token_rules.h"
#include "sdk/base/printable.h"
#include "sdk/tokens/opaque_token.h"

namespace glim::server {
namespace {

constexpr std::size_t kTokensListedMax = 10'000;

bool MissesARight(const Status& status) { return status.code() == StatusCode::kPermissionDenied; }

// Refused, and where a right is missing told to the audit trail.
Call* RefuseOrDeny(Call* call, const Status& status, const std::string& object) {
  return MissesARight(status) ? call->Deny(status, object) : call->Refuse(status);
}

std::vector<core::TokenRow> TokensOf(const core::Identity& identity, const std::string& user) {
  std::vector<core::TokenRow> found;
  identity.tokens.ForEach([&](const std::string&, const core::TokenRow& row) {
    if (row.user == user) found.push_back(row);
  });
  return found;
}

Status NoSuchToken(const std::string& id) {
  return Status(StatusCode::kNotFound, "no token " + EscapedStart(id, kTokenIdDigits))
      .WithReason("NO_SUCH_TOKEN")
      .WithField("id")
      .WithFix("glim admin token list lists them");
}

// Those that the request names; NOT_FOUND also for another user's token: ids are told to nobody else.
Result<std::vector<core::TokenRow>> ToRevoke(const Caller& caller, const core::Tables& tables,
                                             const v1::RevokeTokenRequest& request) {
  if (request.id().empty() == request.all_of_user().empty()) {
    return InvalidArgument("id", "either a token or a user must be named", "give one of id and all_of_user");
  }
  if (!request.all_of_user().empty()) {
    if (Status s = CheckTokensOf(caller, *tables.accounts, request.all_of_user()); !s.ok()) return s;
    return TokensOf(*tables.identity, request.all_of_user());
  }
  const core::TokenRow* const row = tables.identity->tokens.Find(request.id());
  if (row == nullptr) return NoSuchToken(request.id());
  const Status mine = CheckTokensOf(caller, *tables.accounts, row->user);
  if (mine.ok()) return std::vector<core::TokenRow>{*row};
  return caller.IsOperator() ? mine : NoSuchToken(request.id());
}

Status ScopeIsForItself(const Caller& caller, const std::vector<core::TokenRow>& rows) {
  const bool itself = rows.size() == 1 && rows.front().id == caller.token;
  if (itself || caller.scope >= core::Scope::kAll) return Status::Ok();
  return PermissionDenied("SCOPE", "a token of this scope revokes itself alone", "use a token with scope all");
}

}  // namespace

Status CheckRoomForToken(const core::Identity& identity, const std::string& user) {
  std::size_t count = 0;
  identity.tokens.ForEach([&](const std::string&, const core::TokenRow& row) {
    count += row.user == user && row.origin != core::TokenOrigin::kJob ? 1 : 0;
  });
  if (count < kTokensOfUserMax) return Status::Ok();
  return Status(StatusCode::kResourceExhausted,
                "user " + user + " has as many tokens as may be: " + std::to_string(kTokensOfUserMax))
      .WithReason("TOO_MANY_TOKENS")
      .WithField("user")
      .WithFix("revoke some of them: glim admin token list, glim admin token revoke ID");
}

grpc::ServerUnaryReactor* CreateToken(Door* door, grpc::CallbackServerContext* context,
                                      const v1::CreateTokenRequest& request, v1::CreateTokenResponse* response) {
  Call* const call = Call::Open(door, context, "AdminApi/CreateToken", request);
  if (!call->admitted()) return call;
  SchedulerLoop& loop = door->loop();
  const SnapshotPtr snapshot = loop.snapshot();
  auto row = NewToken(call->caller(), *snapshot->tables.accounts, request, loop.Now());
  if (!row.ok()) return RefuseOrDeny(call, row.status(), "user " + EscapedStart(request.user(), 64));
  if (Status s = CheckRoomForToken(*snapshot->tables.identity, row->user); !s.ok()) return call->Refuse(s);
  const OpaqueToken token = MakeToken();
  row->id = token.id;
  row->hash = HashOf(token.secret);
  TokenToProto(*row, {}, response->mutable_row());
  AuditNote note = call->Note("token " + row->id, "", InWords(*row));
  core::ChangeIdentity event{{core::IdentityChange{*row, false, {}, true}}, call->user()};
  const Status posted = loop.Post(
      std::move(event),
      [call, response, text = token.Text()](const core::Reply& reply) {
        if (reply.status.ok()) response->set_token(text);
        call->Answer(reply.status, response);
      },
      std::move(note));
  return posted.ok() ? call : call->Refuse(posted);
}

grpc::ServerUnaryReactor* ListTokens(Door* door, grpc::CallbackServerContext* context,
                                     const v1::ListTokensRequest& request, v1::ListTokensResponse* response) {
  Call* const call = Call::Open(door, context, "AdminApi/ListTokens", request);
  if (!call->admitted()) return call;
  const SnapshotPtr snapshot = door->loop().snapshot();
  const Caller& caller = call->caller();
  const std::string& user = request.user().empty() ? caller.user : request.user();
  if (request.all() && !caller.IsOperator()) {
    return call->Deny(PermissionDenied("ROLE", "all: everybody's tokens are shown to operators", "leave it out"), "");
  }
  const core::Accounts& accounts = *snapshot->tables.accounts;
  if (!request.all()) {
    if (Status s = CheckTokensOf(caller, accounts, user); !s.ok()) return RefuseOrDeny(call, s, "user " + user);
  }
  std::vector<const core::TokenRow*> rows;
  snapshot->tables.identity->tokens.ForEach([&](const std::string&, const core::TokenRow& row) {
    const bool shown = request.all() ? CheckTokensOf(caller, accounts, row.user).ok() : row.user == user;
    if (shown && rows.size() < kTokensListedMax) rows.push_back(&row);
  });
  std::sort(rows.begin(), rows.end(), [](const core::TokenRow* a, const core::TokenRow* b) {
    return std::tie(a->user, a->created_at, a->id) < std::tie(b->user, b->created_at, b->id);
  });
  for (const core::TokenRow* const row : rows) TokenToProto(*row, door->LastUsed(row->id), response->add_tokens());
  call->Answer(Status::Ok(), response);
  return call;
}

grpc::ServerUnaryReactor* RevokeToken(Door* door, grpc::CallbackServerContext* context,
                                      const v1::RevokeTokenRequest& request, v1::RevokeTokenResponse* response) {
  Call* const call = Call::Open(door, context, "AdminApi/RevokeToken", request);
  if (!call->admitted()) return call;
  const SnapshotPtr snapshot = door->loop().snapshot();
  const std::string object = request.all_of_user().empty() ? "token " + EscapedStart(request.id(), kTokenIdDigits)
                                                           : "tokens of " + EscapedStart(request.all_of_user(), 64);
  auto rows = ToRevoke(call->caller(), snapshot->tables, request);
  if (!rows.ok()) return RefuseOrDeny(call, rows.status(), object);
  if (Status s = ScopeIsForItself(call->caller(), *rows); !s.ok()) return call->Deny(s, object);
  response->set_revoked(static_cast<std::uint32_t>(rows->size()));
  std::string before;
  core::ChangeIdentity event{{}, call->user()};
  for (core::TokenRow& row : *rows) {
    before += (before.empty() ? "" : " | ") + row.id + ": " + InWords(row);
    event.changes.push_back({std::move(row), true});
  }
  if (event.changes.empty()) {
    call->Answer(Status::Ok(), response);
    return call;
  }
  const Status posted = door->loop().Post(
      std::move(event), [call, response](const core::Reply& reply) { call->Answer(reply.status, response); },
      call->Note(object, std::move(before)));
  return posted.ok() ? call : call->Refuse(posted);
}

}  // namespace glim::server
