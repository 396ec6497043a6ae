#include "scheduler/core/lifecycle/identity_change.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "scheduler/core/lifecycle/secret_rules.h"

namespace glim::core {
namespace {

constexpr std::size_t kSweptMax = 1'000;  // tokens a call

Status ChangedMeanwhile(const RowKey& key, bool is_there) {
  return Status(StatusCode::kAborted,
                key.kind + " " + key.name +
                    (is_there ? " is not what it was: somebody else changed it" : " is there no more"))
      .WithReason("CHANGED_MEANWHILE")
      .WithField(key.kind)
      .WithFix("look at it again, and then try again");
}

Status IsThere(const RowKey& key) {
  return Status(StatusCode::kAborted, key.kind + " " + key.name + " is there already")
      .WithReason("CHANGED_MEANWHILE")
      .WithField(key.kind)
      .WithFix("look at it again, and then try again");
}

Status CheckToken(const ClusterState& state, const TokenRow& token) {
  if (token.origin == TokenOrigin::kJob) {
    const Attempt* attempt = state.FindAttempt(token.attempt);
    if (attempt && attempt->state != AttemptState::kEnded) return Status::Ok();
    return Status(StatusCode::kFailedPrecondition, "attempt " + ToString(token.attempt) + " has ended")
        .WithReason("ATTEMPT_ENDED")
        .WithField("attempt");
  }
  if (state.accounts().users.contains(token.user)) return Status::Ok();
  return Status(StatusCode::kNotFound, "user: no user " + token.user)
      .WithReason("NO_SUCH_ACCOUNT")
      .WithField("user")
      .WithFix("glim admin user add " + token.user + " makes the user");
}

// What is there as the changes before this one leave it.
class After {
 public:
  explicit After(const Identity& before) : before_(before) {}
  std::optional<IdentityRow> Find(const RowKey& key) const {
    const auto it = changed_.find(key);
    return it == changed_.end() ? before_.Find(key) : it->second;
  }
  void Change(const RowKey& key, const IdentityChange& change) {
    changed_[key] = change.removed ? std::nullopt : std::optional(change.row);
  }

 private:
  const Identity& before_;
  std::map<RowKey, std::optional<IdentityRow>> changed_;
};

void NoteNode(Changes& changes, const std::optional<IdentityRow>& before, const IdentityChange& change,
              const std::string& by) {
  const auto* row = std::get_if<NodeIdentity>(&change.row);
  if (!row || change.removed) return;
  const auto* old = before ? std::get_if<NodeIdentity>(&*before) : nullptr;
  const auto note = [&](HistoryKind kind, const std::string& text) {
    const auto node = changes.state().index().node_by_name.find(row->name);
    const NodeId id = node == changes.state().index().node_by_name.end() ? NodeId{} : node->second;
    changes.Note(kind, {}, id, text + (by.empty() ? "" : ", by " + by), {.node_names = {row->name}});
  };
  const bool was_revoked = old && old->revoked;
  if (row->revoked && !was_revoked) note(HistoryKind::kNodeRevoked, "has no certificate that counts any more");
  if (row->enrolled_at && (!old || old->enrolled_at != row->enrolled_at)) {
    note(HistoryKind::kNodeEnrolled,
         "has a certificate" + (row->invited_by.empty() ? "" : ", invited by " + row->invited_by));
  }
}

// With the tokens that these changes have taken away, and with the sessions that were opened by cookie.
void ForgetSessions(Changes& changes, std::vector<IdentityChange> done) {
  while (!done.empty()) {
    std::set<std::string> ended;
    for (const IdentityChange& change : done) {
      if (const auto* token = std::get_if<TokenRow>(&change.row); token && change.removed) ended.insert(token->id);
    }
    done.clear();
    if (ended.empty()) return;
    changes.state().identity().tokens.ForEach([&](const std::string&, const TokenRow& row) {
      if (ended.contains(row.session_of)) done.push_back({row, true});
    });
    changes.ChangeIdentity(done);
  }
}

}  // namespace

void ApplyIdentity(Changes& changes, const ChangeIdentity& event) {
  After after(changes.state().identity());
  std::vector<IdentityChange> done;
  std::vector<std::optional<IdentityRow>> before;
  for (const IdentityChange& change : event.changes) {
    const RowKey key = KeyOf(change.row);
    std::optional<IdentityRow> now = after.Find(key);
    Status& status = changes.reply().status;
    if (change.expected && now != change.expected) {
      status = ChangedMeanwhile(key, now.has_value());
    } else if (change.only_new && now) {
      status = IsThere(key);
    } else if (const auto* token = std::get_if<TokenRow>(&change.row); token && !change.removed) {
      status = CheckToken(changes.state(), *token);
    } else if (const auto* secret = std::get_if<SecretRow>(&change.row); secret && !change.removed) {
      status = CheckSecretFits(changes.state().identity(), *secret);
    }
    if (!status.ok()) return;
    after.Change(key, change);
    const bool same = change.removed ? !now : now == change.row;
    if (same) continue;
    done.push_back(change);
    before.push_back(std::move(now));
  }
  for (std::size_t i = 0; i < done.size(); ++i) NoteNode(changes, before[i], done[i], event.by);
  changes.ChangeIdentity(done);
  for (std::size_t i = 0; i < done.size(); ++i) {
    const auto* const host = before[i] ? std::get_if<NodeIdentity>(&*before[i]) : nullptr;
    if (host != nullptr && (done[i].removed || std::get<NodeIdentity>(done[i].row).revoked))
      ForgetLogins(changes, *host);
  }
  ForgetSessions(changes, std::move(done));
  SweepTokens(changes);
}

void ApplyTokensUsed(Changes& changes, const TokensUsed& event) {
  std::map<std::string, TokenRow> used;
  for (const auto& [id, at] : event.at) {
    const TokenRow* token = changes.state().identity().tokens.Find(id);
    if (!token) continue;
    TokenRow& row = used.try_emplace(id, *token).first->second;
    row.last_used_at = std::max(row.last_used_at, at);
  }
  std::vector<IdentityChange> done;
  for (auto& [id, row] : used) {
    if (row != *changes.state().identity().tokens.Find(id)) done.push_back({std::move(row)});
  }
  changes.ChangeIdentity(std::move(done));
}

void SweepTokens(Changes& changes) {
  std::vector<IdentityChange> gone;
  for (const auto& [at, id] : changes.state().index().token_ends) {
    if (at + kExpiredTokenKept > changes.now() || gone.size() == kSweptMax) break;
    gone.push_back({*changes.state().identity().tokens.Find(id), true});
  }
  changes.ChangeIdentity(std::move(gone));
}

TimePoint NextSweep(const ClusterState& state) {
  const auto& ends = state.index().token_ends;
  return ends.empty() ? TimePoint{} : ends.begin()->first + kExpiredTokenKept;
}

void ForgetLogins(Changes& changes, const NodeIdentity& host) {
  if (!host.login) return;
  const std::string maker = LoginHostAsMaker(host.name);
  std::vector<IdentityChange> gone;
  changes.state().identity().tokens.ForEach([&](const std::string&, const TokenRow& row) {
    if (row.origin == TokenOrigin::kLogin && row.made_by == maker) gone.push_back({row, true});
  });
  changes.ChangeIdentity(std::move(gone));
}

void ForgetUsers(Changes& changes, const std::vector<std::string>& users) {
  if (users.empty()) return;
  const std::set<std::string> names(users.begin(), users.end());
  std::vector<IdentityChange> gone;
  const Identity& identity = changes.state().identity();
  identity.tokens.ForEach([&](const std::string&, const TokenRow& row) {
    if (names.contains(row.user)) gone.push_back({row, true});
  });
  identity.secrets.ForEach([&](const SecretKey&, const SecretRow& row) {
    if (names.contains(row.user)) gone.push_back({row, true});
  });
  changes.ChangeIdentity(std::move(gone));
}

}  // namespace glim::core
