#include "scheduler/server/login/oidc_affairs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sdk/base/printable.h"
#include "sdk/tokens/opaque_token.h"

namespace glim::server {
namespace {

constexpr std::size_t kNameShownMax = 64;

// Whom the registry knows by that name.
Result<core::User> RegisteredUser(const core::Accounts& accounts, const std::string& name) {
  const auto it = accounts.users.find(name);
  if (it == accounts.users.end()) {
    return Status(StatusCode::kPermissionDenied,
                  "the issuer names '" + EscapedStart(name, kNameShownMax) + "', who is no user of the cluster")
        .WithReason("NO_SUCH_USER")
        .WithFix("ask an operator to register you with `glim admin user`");
  }
  if (!it->second.disabled) return it->second;
  return Status(StatusCode::kPermissionDenied, "user " + name + " is disabled")
      .WithReason("USER_DISABLED")
      .WithFix("ask an operator");
}

// The user's tokens of earlier sign-ins, beyond what they may have: the oldest.
std::vector<core::IdentityChange> OldSignIns(const core::Identity& rows, const std::string& user, TimePoint now) {
  std::vector<core::TokenRow> before;
  rows.tokens.ForEach([&](const std::string&, const core::TokenRow& row) {
    if (row.origin == core::TokenOrigin::kOidc && row.user == user && row.expires_at > now) before.push_back(row);
  });
  std::sort(before.begin(), before.end(), [](const auto& a, const auto& b) { return a.created_at < b.created_at; });
  std::vector<core::IdentityChange> changes;
  for (std::size_t i = 0; i + kOidcTokensMax <= before.size(); ++i) changes.push_back({before[i], true});
  return changes;
}

}  // namespace

v1::GetLoginResponse OidcAffairs::Where() const {
  v1::GetLoginResponse response;
  if (!verifier_) return response;
  response.set_oidc_issuer(verifier_->issuer().issuer);
  response.set_oidc_client(verifier_->issuer().client_id);
  return response;
}

void OidcAffairs::Refuse(AuditNote note, const Status& status, const Done& done) const {
  denied_(std::move(note), status);
  done(status);
}

void OidcAffairs::Login(const v1::LoginOidcRequest& request, AuditNote note, Done done) {
  if (!verifier_) {
    return done(Status(StatusCode::kFailedPrecondition, "this cluster has no OpenID Connect issuer")
                    .WithReason("NO_OIDC")
                    .WithFix("log in by the socket of a login host, or with a token"));
  }
  if (!attempts_.Take(note.peer, loop_->Now())) {
    return done(Status(StatusCode::kResourceExhausted, "too many sign-ins come from this address")
                    .WithReason("LOGIN_RATE")
                    .WithFix("try again in 10 s"));
  }
  const Status asked = verifier_->Verify(
      request.id_token(), [this, note, done](const Result<std::string>& name) { Verified(name, note, done); });
  if (!asked.ok()) done(asked);
}

void OidcAffairs::Verified(const Result<std::string>& name, AuditNote note, const Done& done) {
  if (!name.ok()) return Refuse(std::move(note), name.status(), done);
  const SnapshotPtr snapshot = loop_->snapshot();
  const TimePoint now = loop_->Now();
  const Result<core::User> user = RegisteredUser(*snapshot->tables.accounts, *name);
  note.object = "user " + EscapedStart(*name, kNameShownMax);
  if (!user.ok()) return Refuse(std::move(note), user.status(), done);
  const OpaqueToken token = MakeToken();
  core::TokenRow row;
  row.id = token.id;
  row.user = user->name;
  row.scope = core::Scope::kAll;
  row.origin = core::TokenOrigin::kOidc;
  row.hash = HashOf(token.secret);
  row.created_at = now;
  row.expires_at = now + kOidcTokenLife;
  row.made_by = user->name;
  row.note = "signed in with " + verifier_->issuer().issuer;
  core::ChangeIdentity event;
  event.changes = OldSignIns(*snapshot->tables.identity, row.user, now);
  event.changes.push_back({row, false, {}, true});
  note.user = row.user;
  note.after = "token " + row.id;
  v1::LoginOidcResponse response;
  response.set_token(token.Text());
  response.set_user(row.user);
  response.set_expires_at_ms(row.expires_at.ms);
  const Status posted = loop_->Post(
      std::move(event),
      [done, response = std::move(response)](const core::Reply& reply) {
        if (!reply.status.ok()) return done(reply.status);
        done(response);
      },
      std::move(note));
  if (!posted.ok()) done(posted);
}

void OidcAffairs::Stop() {
  if (verifier_) verifier_->Stop();
}

}  // namespace glim::server
