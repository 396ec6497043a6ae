// Every field of a job's spec, for row_fields.h.
#pragma once

#include <type_traits>

#include "scheduler/core/model/spec.h"

namespace glim::store {

template <typename Io, typename Row>
using RowRef = std::conditional_t<Io::kWrites, const Row&, Row&>;

template <typename Io>
void Fields(Io& io, RowRef<Io, core::Placement> row) {
  io.Field("zones", row.zones);
  io.Field("leaf", row.leaf);
  io.Field("cross_zone", row.cross_zone);
  io.Field("gpu_type", row.gpu_type);
  io.Field("nvlink", row.nvlink);
  io.Field("nic", row.nic);
  io.Field("node", row.node);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::Mount> row) {
  io.Field("source", row.source);
  io.Field("target", row.target);
  io.Field("read_only", row.read_only);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::TaskLimits> row) {
  io.Field("memory_bytes", row.memory_bytes);
  io.Field("cpu_millis", row.cpu_millis);
  io.Field("pids", row.pids);
  io.Field("shm_bytes", row.shm_bytes);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::Dependency> row) {
  io.Field("job", row.job);
  io.Field("when", row.when);
  io.Field("keep", row.keep);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::CodeSnapshot> row) {
  io.Field("path", row.path);
  io.Field("sha256", row.sha256);
  io.Field("revision", row.revision);
  io.Field("bytes", row.bytes);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::SecretUse> row) {
  io.Field("name", row.name);
  io.Field("env", row.env);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::NotifySpec> row) {
  io.Field("on", row.on);
  io.Field("to", row.to);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::JobSpec> row) {
  io.Field("name", row.name);
  io.Field("pool", row.pool);
  io.Field("priority", row.priority);
  io.Field("nodes", row.nodes);
  io.Field("gpus_per_node", row.gpus_per_node);
  io.Field("placement", row.placement);
  io.Field("image", row.image);
  io.Field("workdir", row.workdir);
  io.Field("run", row.run);
  io.Field("launcher", row.launcher);
  io.Field("env", row.env);
  io.Field("interrupt_mode", row.interrupt_mode);
  io.Field("grace_ms", row.grace);
  io.Field("max_grace_ms", row.max_grace);
  io.Field("interrupt_signal", row.interrupt_signal);
  io.Sparse("interrupt_to", row.interrupt_to);
  io.Field("checkpoint_dir", row.checkpoint_dir);
  io.Field("checkpoint_every_ms", row.checkpoint_every);
  io.Field("checkpoint_keep", row.checkpoint_keep);
  io.Field("if_unreachable", row.if_unreachable);
  io.Field("restart_on", row.restart_on);
  io.Field("restart_max", row.restart_max);
  io.Field("restart_backoff_ms", row.restart_backoff);
  io.Field("mounts", row.mounts);
  io.Field("limits", row.limits);
  io.Field("time_limit_ms", row.time_limit);
  io.Field("after", row.after);
  io.Field("snapshot", row.snapshot);
  io.Field("team", row.team);
  io.Field("secrets", row.secrets);
  io.Field("api", row.api);
  io.Field("notify", row.notify);
  io.Field("no_progress_ms", row.no_progress);
  io.Sparse("start_after_ms", row.start_after);
}

}  // namespace glim::store
