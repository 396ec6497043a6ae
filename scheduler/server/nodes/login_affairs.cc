#include "scheduler/server/nodes/login_affairs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sdk/tokens/opaque_token.h"

namespace glim::server {
namespace {

constexpr const char* kMethod = "/glim.v1.AgentApi/LoginUser";
constexpr std::uint32_t kOverflowUid = 65534;  // what a user namespace shows of anybody whom it does not know
constexpr std::uint32_t kNoUid = 0xffffffff;

Status Deny(const char* reason, std::string message, const char* fix) {
  return Status(StatusCode::kPermissionDenied, std::move(message)).WithReason(reason).WithField("uid").WithFix(fix);
}

// The tokens that this host made for the user before, beyond what they may have: the oldest.
std::vector<core::IdentityChange> OldOnes(const core::Identity& rows, const core::TokenRow& made, TimePoint now) {
  std::vector<core::TokenRow> before;
  rows.tokens.ForEach([&](const std::string&, const core::TokenRow& row) {
    const bool alike = row.origin == made.origin && row.user == made.user && row.made_by == made.made_by;
    if (alike && row.expires_at > now) before.push_back(row);
  });
  std::sort(before.begin(), before.end(), [](const auto& a, const auto& b) { return a.created_at < b.created_at; });
  const std::size_t goes = before.size() >= kLoginTokensMax ? before.size() - kLoginTokensMax + 1 : 0;
  std::vector<core::IdentityChange> changes;
  for (std::size_t i = 0; i < goes; ++i) changes.push_back({before[i], true, {}, false});
  return changes;
}

}  // namespace

Result<core::User> UserOfUid(const core::Accounts& accounts, std::uint32_t uid) {
  if (uid == 0 || uid == kOverflowUid || uid == kNoUid) {
    return Deny("NO_LOGIN_UID", "uid " + std::to_string(uid) + " is nobody's who logs in",
                "log in as yourself, outside of user namespaces; an operator uses a token of their own");
  }
  const core::User* found = nullptr;
  for (const auto& [name, user] : accounts.users) {
    if (user.uid != uid) continue;
    if (found != nullptr) {
      return Deny("AMBIGUOUS_UID", "users " + found->name + " and " + name + " both have uid " + std::to_string(uid),
                  "an operator mends one of them with `glim admin user`");
    }
    found = &user;
  }
  if (found == nullptr) {
    return Deny("UNKNOWN_UID", "no user of the cluster has uid " + std::to_string(uid),
                "ask an operator to register you with `glim admin user`");
  }
  if (found->disabled) {
    return Deny("USER_DISABLED", "user " + found->name + " is disabled", "ask an operator");
  }
  return *found;
}

void LoginAffairs::LoginUser(const AgentPeer& node, const v1::LoginUserRequest& request, const std::string& peer,
                             Answered<v1::LoginUserResponse> done) {
  const SnapshotPtr snapshot = loop_->snapshot();
  const TimePoint now = loop_->Now();
  const std::string uid = "uid " + std::to_string(request.uid());
  Status status = gate_->CheckLogin(node, *snapshot->tables.identity, now);
  if (status.ok() && !attempts_.Take(node.node + "/" + uid, now)) {
    return done(Status(StatusCode::kResourceExhausted, uid + " has logged in too often")
                    .WithReason("LOGIN_RATE")
                    .WithFix("try again in 10 s"));
  }
  Result<core::User> user = Status(StatusCode::kInternal, "");
  if (status.ok()) {
    user = UserOfUid(*snapshot->tables.accounts, request.uid());
    status = user.status();
  }
  if (!status.ok()) {
    gate_->Denied(node, peer, kMethod, uid, status);
    return done(status);
  }
  const OpaqueToken token = MakeToken();
  core::TokenRow row;
  row.id = token.id;
  row.user = user->name;
  row.scope = user->role >= core::Role::kOperator ? core::Scope::kSubmit : core::Scope::kAll;
  row.origin = core::TokenOrigin::kLogin;
  row.hash = HashOf(token.secret);
  row.created_at = now;
  row.expires_at = now + kLoginTokenLife;
  row.made_by = "node:" + node.node;
  row.note = "login on " + node.node;
  core::ChangeIdentity event{OldOnes(*snapshot->tables.identity, row, now), ""};
  event.changes.push_back({row, false, {}, true});
  AuditNote note{row.user, row.made_by, peer, kMethod, "user " + row.user, "", "token " + row.id + " for " + uid};
  note.still_allowed = [this, node] {
    const SnapshotPtr rows = loop_->snapshot();
    return gate_->CheckLogin(node, *rows->tables.identity, loop_->Now());
  };
  v1::LoginUserResponse response;
  response.set_token(token.Text());
  response.set_user(row.user);
  response.set_expires_at_ms(row.expires_at.ms);
  response.set_listen(listen_());
  const Status posted = loop_->Post(
      std::move(event),
      [done, response = std::move(response)](const core::Reply& reply) {
        if (reply.status.ok()) return done(response);
        done(reply.status);
      },
      std::move(note));
  if (!posted.ok()) done(posted);
}

}  // namespace glim::server
