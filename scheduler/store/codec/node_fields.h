// Every field of a node's row, for row_fields.h.
#pragma once

#include "scheduler/core/model/rows.h"
#include "scheduler/store/codec/spec_fields.h"

namespace glim::store {

template <typename Io>
void Fields(Io& io, RowRef<Io, core::NodeLabels> row) {
  io.Field("pool", row.pool);
  io.Field("zone", row.zone);
  io.Field("leaf", row.leaf);
  io.Field("gpu_type", row.gpu_type);
  io.Field("gpu_count", row.gpu_count);
  io.Field("nvlink", row.nvlink);
  io.Field("nic", row.nic);
  io.Field("simulated_gpus", row.simulated_gpus);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::Cordon> row) {
  io.Field("by", row.by);
  io.Field("reason", row.reason);
  io.Required("since_ms", row.since);
  io.Sparse("until_ms", row.until);
  io.Sparse("drain", row.drain);
  io.Sparse("deadline_ms", row.deadline);
  io.Sparse("drained", row.drained);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::HealthEvent> row) {
  io.Required("check", row.check);
  io.Sparse("device", row.device);
  io.Sparse("code", row.code);
  io.Field("at_ms", row.at);
  io.Sparse("text", row.text);
  io.Sparse("value", row.value);
  io.Sparse("expected", row.expected);
  io.Sparse("unit", row.unit);
  io.Field("verdict", row.verdict);
  io.Sparse("job", row.job);
  io.Sparse("user", row.user);
  io.Sparse("more", row.more);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::HealthCondition> row) {
  io.Required("check", row.check);
  io.Sparse("device", row.device);
  io.Sparse("text", row.text);
  io.Sparse("value", row.value);
  io.Sparse("expected", row.expected);
  io.Sparse("unit", row.unit);
  io.Field("since_ms", row.since);
  io.Field("verdict", row.verdict);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::NodeValidation> row) {
  io.Sparse("need", row.need, core::ValidationNeed::kNone);
  io.Sparse("since_ms", row.since);
  io.Sparse("job", row.job);
  io.Sparse("good_at_ms", row.good_at);
  io.Sparse("bad", row.bad);
  io.Sparse("again_at_ms", row.again_at);
  io.Sparse("last", row.last);
  io.Sparse("full", row.full);
  io.Sparse("folders", row.folders);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::NodeFailure> row) {
  io.Field("at_ms", row.at);
  io.Field("cause", row.cause);
  io.Sparse("device", row.device);
  io.Sparse("job", row.job);
  io.Sparse("user", row.user);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::Node> row) {
  io.Required("name", row.name);
  io.Field("machine_id", row.machine_id);
  io.Field("boot_id", row.boot_id);
  io.Field("labels", row.labels);
  io.Field("address", row.address);
  io.Field("agent_version", row.agent_version);
  io.Field("runtime", row.runtime);
  io.Sparse("census", row.census);
  io.Field("replica", row.replica);
  io.Field("save_address", row.save_address);
  io.Field("save_key", row.save_key);
  io.Field("allowed_folders", row.allowed_folders);
  io.Field("root_marker", row.root_marker);
  io.Field("root_error", row.root_error);
  io.Field("site_fault", row.site_fault);
  io.Field("copy_bytes_per_s", row.copy_bytes_per_s);
  io.Required("state", row.state);
  io.Field("message", row.message);
  io.Field("holder", row.holder);
  io.Field("claim", row.claim);
  io.Field("stale_tasks", row.stale_tasks);
  io.Field("orphans", row.orphans);
  io.Sparse("unproven", row.unproven);
  io.Sparse("relabelled", row.relabelled);
  io.Sparse("next_labels", row.next_labels);
  io.Field("suspect", row.suspect);
  io.Sparse("suspect_until_ms", row.suspect_until);
  io.Field("use", row.use);
  io.Field("use_since_ms", row.use_since);
  io.Field("at_risk_gpu_ms", row.at_risk_gpu_ms);
  io.Field("registered_at_ms", row.registered_at);
  io.Field("registered_gpu_ms_before", row.registered_gpu_ms_before);
  io.Field("ledger_gpu_ms", row.ledger);
  io.Sparse("fault", row.fault);
  io.Sparse("suspect_why", row.suspect_why);
  io.Sparse("stuck_tasks", row.stuck_tasks);
  io.Sparse("only_uid", row.only_uid);
  io.Sparse("needs_uid", row.needs_uid);
  io.Sparse("exposed_sockets", row.exposed_sockets);
  io.Sparse("cordon", row.cordon);
  io.Sparse("health_boot", row.health_boot);
  io.Sparse("health_seq", row.health_seq);
  io.Sparse("health_events", row.health_events);
  io.Sparse("health_conditions", row.health_conditions);
  io.Sparse("hardware_differs", row.hardware_differs);
  io.Sparse("hardware_accepted", row.hardware_accepted);
  io.Sparse("validation", row.validation);
  io.Sparse("failures", row.failures);
  io.Sparse("lemon", row.lemon);
}

}  // namespace glim::store
