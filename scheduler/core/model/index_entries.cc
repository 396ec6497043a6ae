#include "scheduler/core/model/index_entries.h"

#include "scheduler/core/model/time_limit.h"

namespace glim::core {
namespace {

std::set<NodeId> SavedOn(const Job& job) {
  std::set<NodeId> nodes;
  const auto add = [&](const Checkpoint& save) {
    nodes.insert(save.parts.begin(), save.parts.end());
    nodes.insert(save.copies.begin(), save.copies.end());
  };
  add(job.durable);
  for (const Checkpoint& save : job.older) add(save);
  return nodes;
}

}  // namespace

JobEntry::JobEntry(const Job& row) : id(row.id), kept(row), request_id(row.request_id) {
  if (IsTerminal(row.state)) return;
  if (row.state == JobState::kQueued && row.not_before) {
    delayed_until = row.not_before;
  } else if (row.state == JobState::kQueued && row.waits_for.empty() && !row.waits_for_save) {
    queued = {ShapeOf(row), QueueKeyOf(row), row.queued_at};
  }
  save_watched = row.waits_for_save || row.save_in_memory;
  doubled = row.quantum_doublings > 0;
  saved_on = SavedOn(row);
  for (const Dependency& dependency : row.waits_for) depends_on.push_back(dependency.job);
}

SavesEntry::SavesEntry(const Job& row)
    : pool(row.spec->pool),
      asked(row.saves_asked),
      done(row.saves_done),
      leaves(row.leaves),
      save_cost(row.save_cost),
      leave_time(row.leave_time) {}

AttemptEntry::AttemptEntry(const Attempt& row, const Job& job)
    : id(row.id), replicas(row.replicas), live(row.state != AttemptState::kEnded) {
  if (!live) return;
  pool = job.spec->pool;
  limit_at = LimitAt(job, row);
  needs_attention = row.state != AttemptState::kRunning || row.open_agreement();
}

NodeEntry::NodeEntry(const Node& row)
    : id(row.id),
      name(row.name),
      pool(row.labels.pool),
      zone(row.labels.zone),
      leaf(row.labels.leaf),
      root_marker(row.root_marker),
      claim(row.claim),
      free(IsFree(row)),
      takes_replicas(TakesReplicas(row)),
      draining(row.cordon && row.cordon->drain && !row.cordon->drained),
      lemon(row.lemon),
      cordoned_until(row.cordon ? row.cordon->until : TimePoint()),
      jobs_left(JobsLeftOn(row)),
      measuring(row.validation.job),
      measure_again(row.validation.again_at) {
  const NodeValidation& validation = row.validation;
  if (MayBeMeasured(row)) to_measure = {-static_cast<int>(validation.need), validation.since, row.id};
  if (validation.need == ValidationNeed::kNone && !validation.job) found_good = validation.good_at;
}

}  // namespace glim::core
