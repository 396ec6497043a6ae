// Every field of the identity's rows and of an audit row, as in row_fields.h. Keys are in the bodies, too: a body that
// lies under another row's key is refused.
#pragma once

#include "scheduler/core/model/identity.h"
#include "scheduler/store/codec/row_fields.h"
#include "scheduler/store/contract/audit.h"

namespace glim::store {

template <typename Io>
void Fields(Io& io, RowRef<Io, core::TokenRow> row) {
  io.Required("id", row.id);
  io.Required("user", row.user);
  io.Required("scope", row.scope);
  io.Required("origin", row.origin);
  io.Required("hash", row.hash);
  io.Field("created_at_ms", row.created_at);
  io.Required("expires_at_ms", row.expires_at);
  io.Sparse("last_used_at_ms", row.last_used_at);
  io.Sparse("made_by", row.made_by);
  io.Sparse("note", row.note);
  io.Sparse("attempt", row.attempt);
  io.Sparse("session_of", row.session_of);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::NodeIdentity> row) {
  io.Required("name", row.name);
  io.Sparse("login", row.login);
  io.Sparse("labels", row.labels);
  io.Sparse("address", row.address);
  io.Sparse("labelled", row.labelled);
  io.Sparse("labelled_fields", row.labelled_fields);
  io.Sparse("machine_id", row.machine_id);
  io.Sparse("enrolled_at_ms", row.enrolled_at);
  io.Sparse("invite_hash", row.invite_hash);
  io.Sparse("invite_expires_at_ms", row.invite_expires_at);
  io.Sparse("invited_by", row.invited_by);
  io.Sparse("serial", row.serial);
  io.Sparse("previous_serial", row.previous_serial);
  io.Sparse("certificate_expires_at_ms", row.certificate_expires_at);
  io.Required("revoked", row.revoked);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::SealedRow> row) {
  io.Required("name", row.name);
  io.Hex("sealed_hex", row.bytes);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::SecretRow> row) {
  io.Required("user", row.user);
  io.Required("name", row.name);
  io.Hex("sealed_hex", row.sealed);
  io.Field("bytes", row.bytes);
  io.Field("changed_at_ms", row.changed_at);
}

// Number, time, user and hash are columns.
template <typename Io>
void Fields(Io& io, RowRef<Io, AuditRow> row) {
  io.Sparse("token", row.token);
  io.Sparse("peer", row.peer);
  io.Sparse("method", row.method);
  io.Sparse("object", row.object);
  io.Sparse("before", row.before);
  io.Sparse("after", row.after);
  io.Required("outcome", row.outcome);
}

}  // namespace glim::store
