// Every field of every row, listed once: the writer and the reader walk the same lists, so that neither can forget what
// the other knows. Ids of rows are not listed: they are the key columns' business.
//
// A key may be added (older rows then get its default) but never be given another meaning or unit: that is a new key.
#pragma once

#include "scheduler/core/model/budget.h"
#include "scheduler/core/model/history.h"
#include "scheduler/core/model/learnt_rows.h"
#include "scheduler/core/model/reservation.h"
#include "scheduler/core/model/rows.h"
#include "scheduler/store/codec/node_fields.h"
#include "scheduler/store/codec/spec_fields.h"
#include "scheduler/store/contract/ended_job.h"

namespace glim::store {

template <typename Io>
void Fields(Io& io, RowRef<Io, core::Checkpoint> row) {
  io.Field("step", row.step);
  io.Field("path", row.path);
  io.Field("bytes", row.bytes);
  io.Field("attempt", row.attempt);
  io.Field("at_ms", row.at);
  io.Field("local", row.local);
  io.Field("parts", row.parts);
  io.Field("copies", row.copies);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::EarlierAttempts> row) {
  io.Sparse("count", row.count);
  io.Sparse("started_at_ms", row.started_at);
  io.Sparse("waited_ms", row.waited);
  io.Sparse("ran", row.ran);
  io.Sparse("simulated_gpus", row.simulated_gpus);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::ReservedNode> row) {
  io.Required("node", row.id);
  io.Required("since_ms", row.since);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::Reservation> row) {
  io.Sparse("team", row.team);
  io.Sparse("pool", row.pool);
  io.Sparse("share", row.share);
  io.Sparse("node_names", row.node_names);
  io.Required("begins_at_ms", row.begins_at);
  io.Required("ends_at_ms", row.ends_at);
  io.Field("reason", row.reason);
  io.Field("made_by", row.made_by);
  io.Field("made_at_ms", row.made_at);
  io.Sparse("nodes", row.nodes);
  io.Sparse("begun_at_ms", row.begun_at);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::Budget> row) {
  io.Required("gpu_ms_max", row.gpu_ms_max);
  io.Required("booked_gpu_ms", row.booked_gpu_ms);
  io.Required("since_ms", row.since);
  io.Field("made_by", row.made_by);
  io.Field("made_at_ms", row.made_at);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::Share> row) {
  io.Required("gpu_ms", row.gpu_ms);
  io.Required("hour", row.hour);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::LifeTable> row) {
  io.Required("ended", row.ended);
  io.Field("updated_at_ms", row.updated_at);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::Job> row) {
  io.Field("user", row.user);
  io.Field("team", row.team);
  io.Field("request_id", row.request_id);
  io.Field("request_index", row.request_index);
  io.Field("request_size", row.request_size);
  io.Required("spec", row.spec);  // a job that would run nothing is worse than a refused one
  io.Required("state", row.state);
  io.Field("priority", row.priority);
  io.Field("submitted_at_ms", row.submitted_at);
  io.Field("queued_at_ms", row.queued_at);
  io.Field("not_before_ms", row.not_before);
  io.Field("ended_at_ms", row.ended_at);
  io.Field("attempts", row.attempts);
  io.Field("interrupts", row.interrupts);
  io.Field("restarts", row.restarts);
  io.Field("start_failures", row.start_failures);
  io.Field("swap_aborted", row.swap_aborted);
  io.Field("checkpoint_root", row.checkpoint_root);
  io.Field("durable", row.durable);
  io.Field("older", row.older);
  io.Field("waits_for_save", row.waits_for_save);
  io.Field("save_in_memory", row.save_in_memory);
  io.Field("restore_failures", row.restore_failures);
  io.Field("steps_lost", row.steps_lost);
  io.Field("save_cost_ms", row.save_cost);
  io.Field("leave_time_ms", row.leave_time);
  io.Field("leaves", row.leaves);
  io.Field("restore_cost_ms", row.restore_cost);
  io.Field("saves_asked", row.saves_asked);
  io.Field("saves_done", row.saves_done);
  io.Field("message", row.message);
  io.Field("ledger_gpu_ms", row.ledger);
  io.Field("service_ms", row.service);
  io.Sparse("earlier", row.earlier);
  io.Field("waits_for", row.waits_for);
  io.Field("cooperative", row.cooperative);
  io.Field("restarts_since_save", row.restarts_since_save);
  io.Field("idle_yields", row.idle_yields);
  io.Field("quantum_doublings", row.quantum_doublings);
  io.Sparse("storage_failures", row.storage_failures);
  io.Sparse("hung_on", row.hung_on);
  io.Sparse("parent", row.parent);
  io.Sparse("priority_set", row.priority_set);
  io.Sparse("updated", row.updated);
  io.Sparse("moved_off", row.moved_off);
  io.Sparse("hardware_failed_at_ms", row.hardware_failed_at);
  io.Sparse("hardware_failures", row.hardware_failures);
  io.Sparse("ended_unrun", row.ended_unrun);
  io.Sparse("longest_gap_ms", row.longest_gap);
  io.Sparse("validates", row.validates);
  io.Sparse("orphan_attempts", row.orphan_attempts);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::Agreement> row) {
  io.Field("id", row.id);
  io.Field("state", row.state);
  io.Field("preemptor", row.preemptor);
  io.Field("preemptor_name", row.preemptor_name);
  io.Field("preemptor_user", row.preemptor_user);
  io.Field("reason", row.reason);
  io.Field("suspend", row.suspend);
  io.Field("time_limit", row.time_limit);
  io.Field("moved", row.moved);
  io.Field("requested_at_ms", row.requested_at);
  io.Field("agree_by_ms", row.agree_by);
  io.Field("deadline_ms", row.deadline);
  io.Field("notified_at_ms", row.notified_at);
  io.Field("agreed_at_ms", row.agreed_at);
  io.Field("saved_at_ms", row.saved_at);
  io.Field("left_at_ms", row.left_at);
  io.Field("released_at_ms", row.released_at);
  io.Field("stop_step", row.stop_step);
  io.Field("swap_aborted", row.swap_aborted);
  io.Sparse("by_operator", row.by_operator);
  io.Sparse("elsewhere", row.elsewhere);
  io.Sparse("grace_ms", row.grace);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::TaskUser> row) {
  io.Required("uid", row.uid);
  io.Required("gid", row.gid);
  io.Sparse("groups", row.groups);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::SaveFailure> row) {
  io.Field("step", row.step);
  io.Field("why", row.why);
  io.Field("count", row.count);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::EndedTasks> row) {
  io.Field("count", row.count);
  io.Field("exit_code", row.exit_code);
  io.Field("step", row.step);
  io.Field("message", row.message);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::Attempt> row) {
  io.Required("state", row.state);
  io.Field("nodes", row.nodes);
  io.Field("zones", row.zones);
  io.Field("gateways", row.gateways);
  io.Field("replicas", row.replicas);
  io.Field("charged", row.charged);
  io.Field("borrowed", row.borrowed);
  io.Field("nodes_held", row.nodes_held);
  io.Field("quantum_ms", row.quantum);
  io.Field("master_port", row.master_port);
  io.Field("base", row.base);
  io.Field("queued_at_ms", row.queued_at);
  io.Field("claimed_at_ms", row.claimed_at);
  io.Field("started_at_ms", row.started_at);
  io.Field("running_at_ms", row.running_at);
  io.Field("ended_at_ms", row.ended_at);
  io.Field("stop", row.stop);
  io.Field("stop_at_ms", row.stop_at);
  io.Field("agreements", row.agreements);
  io.Field("outcome", row.outcome);
  io.Field("save", row.save);
  io.Field("exit_code", row.exit_code);
  io.Field("failed_rank", row.failed_rank);
  io.Field("message", row.message);
  io.Field("last_step", row.last_step);
  io.Field("progress_at_ms", row.progress_at);
  io.Field("durable_step", row.durable_step);
  io.Field("durable_at_ms", row.durable_at);
  io.Field("save_interval_ms", row.save_interval);
  io.Field("steps_lost", row.steps_lost);
  io.Field("victims", row.victims);
  io.Sparse("task_user", row.task_user);
  io.Sparse("stop_now", row.stop_now);
  io.Sparse("stalled_since_ms", row.stalled_since);
  io.Sparse("evidence_asked", row.evidence_asked);
  io.Sparse("evidence", row.evidence);
  io.Sparse("gpus_idle_since_ms", row.gpus_idle_since);
  io.Sparse("save_failure", row.save_failure);
  io.Sparse("ended_tasks", row.ended_tasks);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::SavedShard> row) {
  io.Field("step", row.step);
  io.Field("path", row.path);
  io.Field("bytes", row.bytes);
  io.Field("shard", row.shard);
  io.Field("shards", row.shards);
  io.Field("took_ms", row.took);
  io.Field("local", row.local);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::Rank> row) {
  io.Field("rank", row.rank);
  io.Field("connected", row.connected);
  io.Field("greeted", row.greeted);
  io.Field("step", row.step);
  io.Field("step_time_ms", row.step_time);
  io.Field("acked_agreement", row.acked_agreement);
  io.Field("hold", row.hold);
  io.Field("finished", row.finished);
  io.Field("saves", row.saves);
  io.Field("leaving", row.leaving);
  io.Field("extend_ms", row.extend);
  io.Field("yielded", row.yielded);
  io.Field("exited", row.exited);
  io.Field("exit_code", row.exit_code);
  io.Field("restored_step", row.restored_step);
  io.Field("restore_time_ms", row.restore_time);
  io.Field("exited_at_ms", row.exited_at);
  io.Field("cause", row.cause);
  io.Field("restore_failed", row.restore_failed);
  io.Sparse("save_failure", row.save_failure);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::Task> row) {
  io.Field("node", row.node);
  io.Required("phase", row.phase);
  io.Field("exit_code", row.exit_code);
  io.Field("message", row.message);
  io.Field("lost", row.lost);
  io.Field("start_failed", row.start_failed);
  io.Field("job_fault", row.job_fault);
  io.Field("path_missing", row.path_missing);
  io.Field("save_missing", row.save_missing);
  io.Field("copied_bytes", row.copied_bytes);
  io.Field("copied_at_ms", row.copied_at);
  io.Field("copy_time_ms", row.copy_time);
  io.Field("first_output_ms", row.first_output);
  io.Field("released_at_ms", row.released_at);
  io.Field("at_risk_gpu_ms", row.at_risk_gpu_ms);
  io.Field("ranks", row.ranks);
  io.Sparse("hung_path", row.hung_path);
  io.Sparse("disk_fault", row.disk_fault);
  io.Sparse("pids", row.pids);
  io.Sparse("out_of_memory", row.out_of_memory);
  io.Sparse("left_behind", row.left_behind);
  io.Sparse("left_names", row.left_names);
  io.Sparse("image_bytes", row.image_bytes);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::HistoryFacts> row) {
  io.Sparse("name", row.name);
  io.Sparse("user", row.user);
  io.Sparse("team", row.team);
  io.Sparse("priority", row.priority, core::PriorityClass::kNormal);
  io.Sparse("nodes", row.nodes);
  io.Sparse("nodes_free", row.nodes_free);
  io.Sparse("gpus", row.gpus);
  io.Sparse("simulated_gpus", row.simulated_gpus);
  io.Sparse("pool", row.pool);
  io.Sparse("zone", row.zone);
  io.Sparse("node_names", row.node_names);
  io.Sparse("node_names_left_out", row.node_names_left_out);
  io.Sparse("jobs", row.jobs);
  io.Sparse("jobs_left_out", row.jobs_left_out);
  io.Sparse("step", row.step, std::int64_t{-1});
  io.Sparse("outcome", row.outcome);
  io.Sparse("stop", row.stop);
  io.Sparse("took_ms", row.took);
  io.Sparse("grace_ms", row.grace);
  io.Sparse("signal", row.signal);
  io.Sparse("before_it_left", row.before_it_left);
  io.Sparse("epoch", row.epoch);
  io.Sparse("version", row.version);
  io.Sparse("states", row.states);
  io.Sparse("check", row.check);
  io.Sparse("device", row.device);
  io.Sparse("code", row.code);
  io.Sparse("value", row.value);
  io.Sparse("expected", row.expected);
  io.Sparse("unit", row.unit);
  io.Sparse("verdict", row.verdict, core::HealthVerdict::kRecorded);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, core::HistoryEntry> row) {
  io.Field("at_ms", row.at);
  io.Required("kind", row.kind);
  io.Field("job", row.job);
  io.Field("attempt", row.attempt);
  io.Field("node", row.node);
  io.Field("text", row.text);
  io.Field("facts", row.facts);
}

template <typename Io>
void Fields(Io& io, RowRef<Io, EndedJob> row) {
  io.Field("name", row.name);
  io.Field("user", row.user);
  io.Field("team", row.team);
  io.Field("pool", row.pool);
  io.Field("priority", row.priority);
  io.Required("state", row.state);
  io.Field("message", row.message);
  io.Field("nodes", row.nodes);
  io.Field("gpus_per_node", row.gpus_per_node);
  io.Field("simulated_gpus", row.simulated_gpus);
  io.Field("submitted_at_ms", row.submitted_at);
  io.Field("started_at_ms", row.started_at);
  io.Required("ended_at_ms", row.ended_at);
  io.Field("attempts", row.attempts);
  io.Field("interrupts", row.interrupts);
  io.Field("restarts", row.restarts);
  io.Field("steps_lost", row.steps_lost);
  io.Field("durable_step", row.durable_step);
  io.Field("waited_ms", row.waited);
  io.Field("ledger_gpu_ms", row.ledger);
  io.Sparse("outcome", row.outcome);
  io.Sparse("exit_code", row.exit_code);
}

// A type with such a list.
template <typename Io, typename T>
concept HasFields = requires(Io& io, T& value) {
  Fields(io, value);
};

}  // namespace glim::store
