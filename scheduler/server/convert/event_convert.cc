#include "scheduler/server/convert/event_convert.h"

#include "scheduler/core/lifecycle/ledger.h"
#include "scheduler/core/model/history_words.h"

namespace glim::server {
namespace {

std::int64_t UseOf(const store::EndedJob& job, core::Use use) { return job.ledger[static_cast<std::size_t>(use)]; }

}  // namespace

void EventToProto(const Snapshot& snapshot, const store::Store::StoredHistory& stored, v1::Event* out) {
  const core::HistoryEntry& entry = stored.entry;
  out->set_seq(stored.seq);
  out->set_happened_at_ms(entry.at.ms);
  out->set_kind(core::ToString(entry.kind));
  out->set_job_id(entry.job.value);
  out->set_attempt(entry.attempt);
  if (const core::Node* node = entry.node ? snapshot.tables.nodes.Find(entry.node) : nullptr) out->set_node(node->name);
  out->set_message(core::HistoryWords(entry));
}

void EndedJobToProto(const store::EndedJob& job, v1::EndedJob* out) {
  out->set_id(job.id.value);
  out->set_name(job.name);
  out->set_user(job.user);
  out->set_team(job.team);
  out->set_pool(job.pool);
  out->set_priority(core::ToString(job.priority));
  out->set_state(core::ToString(job.state));
  out->set_message(job.message);
  out->set_nodes(job.nodes);
  out->set_gpus_per_node(job.gpus_per_node);
  out->set_simulated_gpus(job.simulated_gpus);
  out->set_submitted_at_ms(job.submitted_at.ms);
  out->set_started_at_ms(job.started_at.ms);
  out->set_ended_at_ms(job.ended_at.ms);
  out->set_attempts(job.attempts);
  out->set_interrupts(job.interrupts);
  out->set_restarts(job.restarts);
  out->set_steps_lost(job.steps_lost);
  out->set_durable_step(job.durable_step);
  out->set_waited_ms(job.waited.ms);
  std::int64_t held = 0;
  for (const core::Use use : {core::Use::kClaimed, core::Use::kStarting, core::Use::kRestoring, core::Use::kProductive,
                              core::Use::kStopping, core::Use::kLost}) {
    held += UseOf(job, use);
  }
  out->set_gpu_ms(held);
  out->set_productive_gpu_ms(UseOf(job, core::Use::kProductive));
  out->set_lost_gpu_ms(UseOf(job, core::Use::kLost));
}

}  // namespace glim::server
