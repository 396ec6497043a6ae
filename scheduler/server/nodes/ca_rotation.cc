#include "scheduler/server/nodes/ca_rotation.h"

#include <utility>

#include "sdk/log/log.h"

namespace glim::server {

using identity::ClusterAuthority;

std::vector<std::string> NotRenewed(const core::Identity& rows, const ClusterAuthority& authority, TimePoint now) {
  std::vector<std::string> nodes;
  rows.nodes.ForEach([&](const std::string& name, const core::NodeIdentity& row) {
    const bool counts = !row.serial.empty() && !row.revoked && row.certificate_expires_at > now;
    // Of hosts for logins nobody hears when they use the newest: they renew every few hours, and ask again at once.
    const bool unused = !row.previous_serial.empty() && !row.login && !authority.IsOfSigner(row.previous_serial);
    if (counts && (unused || !authority.IsOfSigner(row.serial))) nodes.push_back(name);
  });
  return nodes;
}

void CaRotation::Rotate(const v1::RotateCaRequest& request, AuditNote note, Answered<v1::RotateCaResponse> done) {
  if (parts_.keeper == nullptr) {
    return done(Status(StatusCode::kFailedPrecondition, "the scheduler runs without identity: it has no authority")
                    .WithReason("NO_IDENTITY")
                    .WithFix("start the scheduler without insecure_without_identity"));
  }
  if (busy_.exchange(true)) {
    return done(Status(StatusCode::kAborted, "the authority is being changed just now")
                    .WithReason("CHANGED_MEANWHILE")
                    .WithFix("try again"));
  }
  const auto next = std::make_shared<ClusterAuthority>(*parts_.keeper->authority());
  const TimePoint now = parts_.loop->Now();
  note.object = "authority";
  note.before = parts_.keeper->authority()->Signer().fingerprint();
  const SnapshotPtr snapshot = parts_.loop->snapshot();
  const Status status = request.finish()
                            ? next->Finish(NotRenewed(*snapshot->tables.identity, *next, now), request.force())
                            : next->Begin(now);
  if (!status.ok()) {
    busy_ = false;
    return done(status);
  }
  note.after = next->Signer().fingerprint() + (request.finish() ? ", alone" : ", beside the old one");
  Commit(next, std::move(note), std::move(done));
}

void CaRotation::Commit(std::shared_ptr<ClusterAuthority> next, AuditNote note, Answered<v1::RotateCaResponse> done) {
  const SnapshotPtr snapshot = parts_.loop->snapshot();
  const core::Identity& rows = *snapshot->tables.identity;
  core::ChangeIdentity event{{}, note.user};
  for (core::SealedRow& row : next->Rows(parts_.keeper->key())) {
    const core::SealedRow* const before = rows.sealed.Find(row.name);
    core::IdentityChange change{std::move(row), false, {}, before == nullptr};
    if (before) change.expected = core::IdentityRow(*before);
    event.changes.push_back(std::move(change));
  }
  if (const auto* const old = rows.sealed.Find(identity::kOldAuthorityRow); old != nullptr && !next->changing()) {
    event.changes.push_back({*old, true, core::IdentityRow(*old), false});
  }
  const auto answer = [this, next, done](const core::Reply& reply) {
    if (reply.status.ok()) parts_.keeper->Replace(*next);
    busy_ = false;
    if (!reply.status.ok()) return done(reply.status);
    LogInfo("the authority has changed signer={} changing={}", next->Signer().fingerprint(), next->changing());
    parts_.changed();
    v1::RotateCaResponse response;
    response.set_ca_fingerprint(next->Signer().fingerprint());
    const SnapshotPtr now = parts_.loop->snapshot();
    for (std::string& node : NotRenewed(*now->tables.identity, *next, parts_.loop->Now())) {
      // Whoever says nothing would be left alone until it does, and hear what its node is to run meanwhile.
      if (!next->changing() && parts_.dropped) parts_.dropped(node);
      response.add_not_renewed(std::move(node));
    }
    done(std::move(response));
  };
  const Status posted = parts_.loop->Post(std::move(event), answer, note);
  if (posted.ok()) return;
  busy_ = false;
  done(posted);
}

}  // namespace glim::server
