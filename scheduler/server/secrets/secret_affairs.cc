#include "scheduler/server/secrets/secret_affairs.h"

#include <utility>

#include "scheduler/core/model/spec_limits.h"
#include "scheduler/core/model/validate_spec.h"
#include "scheduler/identity/seal.h"

namespace glim::server {
namespace {

Status CheckValue(const std::string& value) {
  if (value.empty()) return InvalidArgument("value", "is empty", "write it to the standard input of glim secret set");
  if (value.size() <= core::kSecretBytesMax) return Status::Ok();
  return InvalidArgument("value", std::to_string(value.size()) + " bytes are too many",
                         "use at most " + std::to_string(core::kSecretBytesMax));
}

Status NoIdentity() {
  return Status(StatusCode::kFailedPrecondition, "this scheduler runs without identity: it keeps no secrets")
      .WithReason("NO_IDENTITY")
      .WithFix("ask the operator for a scheduler with TLS and tokens");
}

std::string ObjectOf(const std::string& user, const std::string& name) { return "secret " + user + "/" + name; }

}  // namespace

void SecretAffairs::Set(const std::string& user, const v1::SetSecretRequest& request, AuditNote note,
                        Done<v1::SetSecretResponse> done) {
  if (!source_->key) return done(NoIdentity());
  Status status = core::CheckSecretName("name", request.name());
  if (status.ok()) status = CheckValue(request.value());
  if (!status.ok()) return done(status);
  const SnapshotPtr snapshot = loop_->snapshot();
  const core::SecretRow* before = snapshot->tables.identity->secrets.Find({user, request.name()});
  core::SecretRow row;
  row.user = user;
  row.name = request.name();
  row.sealed = identity::Seal(*source_->key, "secret", user + "/" + row.name, request.value(), source_->random);
  row.bytes = static_cast<std::uint32_t>(request.value().size());
  row.changed_at = loop_->Now();
  note.object = ObjectOf(user, row.name);
  if (before != nullptr) note.before = std::to_string(before->bytes) + " bytes";
  note.after = std::to_string(row.bytes) + " bytes";
  v1::SetSecretResponse response;
  response.set_replaced(before != nullptr);
  core::ChangeIdentity event;
  event.by = user;
  event.changes.push_back({std::move(row)});
  const Status posted = loop_->Post(
      std::move(event),
      [done, response](const core::Reply& reply) {
        if (!reply.status.ok()) return done(reply.status);
        done(response);
      },
      std::move(note));
  if (!posted.ok()) done(posted);
}

void SecretAffairs::Remove(const std::string& user, const v1::RemoveSecretRequest& request, AuditNote note,
                           Done<v1::RemoveSecretResponse> done) {
  const SnapshotPtr snapshot = loop_->snapshot();
  const core::SecretRow* row = snapshot->tables.identity->secrets.Find({user, request.name()});
  if (row == nullptr) {
    return done(Status(StatusCode::kNotFound, "name: you have no such secret")
                    .WithReason("NO_SUCH_SECRET")
                    .WithField("name")
                    .WithFix("glim secret list shows yours"));
  }
  note.object = ObjectOf(user, row->name);
  note.before = std::to_string(row->bytes) + " bytes";
  core::ChangeIdentity event;
  event.by = user;
  event.changes.push_back({*row, true});
  const Status posted = loop_->Post(
      std::move(event),
      [done](const core::Reply& reply) {
        if (!reply.status.ok()) return done(reply.status);
        done(v1::RemoveSecretResponse());
      },
      std::move(note));
  if (!posted.ok()) done(posted);
}

v1::ListSecretsResponse SecretAffairs::List(const std::string& user) const {
  v1::ListSecretsResponse response;
  const SnapshotPtr snapshot = loop_->snapshot();
  snapshot->tables.identity->secrets.VisitFrom({user, ""}, [&](const core::SecretKey& key, const core::SecretRow& row) {
    if (key.first != user) return false;
    v1::SecretInfo& info = *response.add_secrets();
    info.set_name(row.name);
    info.set_changed_at_ms(row.changed_at.ms);
    info.set_bytes(row.bytes);
    return true;
  });
  return response;
}

}  // namespace glim::server
