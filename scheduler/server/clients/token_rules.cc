#include "scheduler/server/clients/token_rules.h"

#include <algorithm>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/server/door/door.h"
#include "sdk/base/printable.h"
#include "sdk/base/rfc3339.h"

namespace glim::server {
namespace {

Result<core::Scope> ScopeOf(const Caller& caller, const std::string& word) {
  if (word.empty()) return caller.scope;
  const auto scope = core::FromWord<core::Scope>(word);
  if (!scope) {
    return InvalidArgument("scope", "'" + EscapedStart(word, 64) + "' is no scope", "use read, submit or all");
  }
  if (*scope <= caller.scope) return *scope;
  return PermissionDenied("SCOPE", "scope: this token's own is " + std::string(core::ToString(caller.scope)),
                          "make one of that scope, or use another token")
      .WithField("scope");
}

// A login's token is the login's: what it makes ends with it, and makes none that does not.
bool EndsWithMaker(core::TokenOrigin origin) {
  return origin == core::TokenOrigin::kLogin || origin == core::TokenOrigin::kOidc || origin == core::TokenOrigin::kJob;
}

Result<TimePoint> EndOf(const Caller& caller, std::int64_t ttl_ms, TimePoint now) {
  if (ttl_ms < 0 || ttl_ms > kTokenLifeMax.ms) {
    return InvalidArgument("ttl_ms", std::to_string(ttl_ms) + " is out of range", "use at most 366 days; 0: 90 days");
  }
  const TimePoint end = now + (ttl_ms == 0 ? kTokenLife : Duration{ttl_ms});
  if (!EndsWithMaker(caller.origin) || !caller.expires_at || end <= caller.expires_at) return end;
  if (ttl_ms == 0) return caller.expires_at;
  return PermissionDenied("OUTLIVES", "ttl_ms: a token of a login makes none that outlives it",
                          "leave the time out, or use a token that you were given for longer")
      .WithField("ttl_ms");
}

Status NoSuchUser(const std::string& user) {
  return Status(StatusCode::kNotFound, "no user " + EscapedStart(user, 64) + " is registered")
      .WithReason("NO_SUCH_USER")
      .WithField("user")
      .WithFix("register the user first: glim admin user add");
}

}  // namespace

Status CheckTokensOf(const Caller& caller, const core::Accounts& accounts, const std::string& user) {
  const auto at = accounts.users.find(user);
  // In plaintext mode the caller's name may be nobody's.
  if (at == accounts.users.end()) return caller.user == user && caller.by_name ? Status::Ok() : NoSuchUser(user);
  if (caller.IsAdmin() || caller.user == user) return Status::Ok();
  if (!caller.IsOperator()) {
    return PermissionDenied("NOT_YOURS", "user: these tokens are " + user + "'s", "ask an operator").WithField("user");
  }
  if (at->second.role <= caller.role) return Status::Ok();
  return PermissionDenied("ROLE", "user: " + user + " is an admin, whose tokens are an admin's affair", "ask an admin")
      .WithField("user");
}

Result<core::TokenRow> NewToken(const Caller& caller, const core::Accounts& accounts,
                                const v1::CreateTokenRequest& request, TimePoint now) {
  if (caller.by_name) {
    return Status(StatusCode::kFailedPrecondition, "this scheduler runs without tokens: nobody has proven who asks")
        .WithReason("NO_IDENTITY")
        .WithFix("start it without insecure_without_identity");
  }
  core::TokenRow row;
  row.user = request.user().empty() ? caller.user : request.user();
  if (Status s = CheckTokensOf(caller, accounts, row.user); !s.ok()) return s;
  const core::User& user = accounts.users.at(row.user);
  // Also one's own: a login's token of an operator is no operator's, and must not become one.
  if (RoleInForce(user, core::TokenOrigin::kPersonal) > caller.role && !EndsWithMaker(caller.origin)) {
    return PermissionDenied("ROLE", "user: " + row.user + " has a higher role than this token", "ask an admin")
        .WithField("user");
  }
  if (user.disabled) {
    return Status(StatusCode::kFailedPrecondition, "user: " + row.user + " is disabled")
        .WithReason("USER_DISABLED")
        .WithField("user")
        .WithFix("glim admin user set " + row.user + " --enable");
  }
  const auto scope = ScopeOf(caller, request.scope());
  if (!scope.ok()) return scope.status();
  const auto end = EndOf(caller, request.ttl_ms(), now);
  if (!end.ok()) return end.status();
  if (request.note().size() > kTokenNoteMax) {
    return InvalidArgument("note", "is too long", "use at most " + std::to_string(kTokenNoteMax) + " bytes");
  }
  row.scope = *scope;
  row.origin = EndsWithMaker(caller.origin) ? caller.origin : core::TokenOrigin::kPersonal;
  row.created_at = now;
  row.expires_at = *end;
  // Whoever was handed a token, by another user or by a host for logins, makes none that was not.
  row.made_by = caller.made_by.empty() ? caller.user : caller.made_by;
  row.note = Printable(request.note());
  return row;
}

std::string InWords(const core::TokenRow& row) {
  std::string words = "user " + row.user + "; scope " + core::ToString(row.scope) + "; " + core::ToString(row.origin);
  if (row.expires_at) words += "; until " + FormatRfc3339(row.expires_at);
  return words + (row.note.empty() ? "" : "; " + row.note);
}

void TokenToProto(const core::TokenRow& row, TimePoint last_used, v1::Token* out) {
  out->set_id(row.id);
  out->set_user(row.user);
  out->set_scope(core::ToString(row.scope));
  out->set_origin(core::ToString(row.origin));
  out->set_made_by(row.made_by);
  out->set_created_at_ms(row.created_at.ms);
  out->set_expires_at_ms(row.expires_at.ms);
  constexpr std::int64_t kMinute = 60'000;
  out->set_last_used_ms(std::max(row.last_used_at, last_used).ms / kMinute * kMinute);
  out->set_note(row.note);
  out->set_job_id(row.attempt.job.value);
}

}  // namespace glim::server
