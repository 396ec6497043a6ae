// The fields of users, teams, quotas, pools, zones and links, as row_fields.h has those of the others.
#pragma once

#include "scheduler/core/model/accounts.h"
#include "scheduler/store/codec/row_fields.h"

namespace glim::store {

template <typename Io>
void Fields(Io& io, RowRef<Io, core::User> row) {
  io.Required("name", row.name);
  io.Field("teams", row.teams);
  io.Sparse("role", row.role, core::Role::kUser);
  io.Sparse("admin_of", row.admin_of);
  io.Sparse("uid", row.uid);
  io.Sparse("gid", row.gid);
  io.Sparse("groups", row.groups);
  io.Sparse("disabled", row.disabled);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::Team> row) {
  io.Required("name", row.name);
  io.Field("weight", row.weight);
  io.Sparse("pools", row.pools);
  io.Sparse("default_pool", row.default_pool);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::QuotaRow> row) {
  io.Required("of", row.group.of);
  io.Field("subject", row.group.subject);
  io.Required("pool", row.group.pool);
  io.Required("class", row.priority);
  io.Required("nodes", row.nodes);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::QuotaImport> row) {
  io.Required("text", row.text);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::PoolRow> row) {
  io.Required("name", row.name);
  io.Sparse("note", row.note);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::ZoneRow> row) {
  io.Required("name", row.name);
  io.Sparse("note", row.note);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::ZoneLink> row) {
  io.Required("zone_a", row.zone_a);
  io.Required("zone_b", row.zone_b);
  io.Required("jobs_max", row.jobs_max);
  io.Required("pairs_max", row.pairs_max);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::LayoutImport> row) {
  io.Required("text", row.text);
}

}  // namespace glim::store
