#include "scheduler/store/codec/commit_batch.h"

#include <algorithm>
#include <memory>
#include <variant>

#include <fmt/format.h>

#include "scheduler/core/model/planted.h"
#include "sdk/base/check.h"

namespace glim::store {

namespace {

// Visits from the last mutation to the first, so that the first one seen of a row is the one that counts.
struct Backward {
  CommitBatch& batch;

  bool Deleted(core::JobId job) const { return batch.deleted_jobs.contains(job); }

  void operator()(const std::shared_ptr<const core::Node>& row) {
    GLIM_CHECK(row != nullptr, "a mutation without its row");
    if (!batch.deleted_nodes.contains(row->id)) batch.nodes.try_emplace(row->id, row.get());
  }
  void operator()(const std::shared_ptr<const core::Job>& row) {
    GLIM_CHECK(row != nullptr, "a mutation without its row");
    if (core::Planted(core::PlantedBug::kDroppedSubmission) && row->attempts == 0) return;
    if (!Deleted(row->id)) batch.jobs.try_emplace(row->id, row.get());
  }
  void operator()(const std::shared_ptr<const core::Attempt>& row) {
    GLIM_CHECK(row != nullptr, "a mutation without its row");
    if (!Deleted(row->id.job) && !batch.deleted_attempts.contains(row->id))
      batch.attempts.try_emplace(row->id, row.get());
  }
  void operator()(const std::shared_ptr<const core::Task>& row) {
    GLIM_CHECK(row != nullptr, "a mutation without its row");
    const bool gone = batch.deleted_attempts.contains(row->id.attempt) || batch.deleted_tasks.contains(row->id.attempt);
    if (!Deleted(row->id.attempt.job) && !gone) batch.tasks.try_emplace(row->id, row.get());
  }
  void operator()(const core::DeleteJob& deleted) { batch.deleted_jobs.insert(deleted.id); }
  void operator()(const core::DeleteAttempt& deleted) {
    (deleted.tasks_alone ? batch.deleted_tasks : batch.deleted_attempts).insert(deleted.id);
  }
  void operator()(const std::shared_ptr<const core::Share>& row) {
    if (!batch.deleted_shares.contains(row->id)) batch.shares.try_emplace(row->id, row.get());
  }
  void operator()(const std::shared_ptr<const core::LifeTable>& row) {
    if (!batch.deleted_life_tables.contains(row->id)) batch.life_tables.try_emplace(row->id, row.get());
  }
  void operator()(const core::DeleteShare& deleted) { batch.deleted_shares.insert(deleted.id); }
  void operator()(const core::DeleteLifeTable& deleted) { batch.deleted_life_tables.insert(deleted.id); }
  void operator()(const core::DeleteNode& deleted) { batch.deleted_nodes.insert(deleted.id); }
  void operator()(const core::PutIds& ids) {
    if (!batch.ids) batch.ids = ids;
    batch.ids->next_job = std::max(batch.ids->next_job, ids.next_job);
    batch.ids->next_node = std::max(batch.ids->next_node, ids.next_node);
  }
  void operator()(const core::AccountChange& change) {
    batch.accounts.try_emplace(core::KeyOf(change.row), change.removed ? nullptr : &change.row);
  }
  void operator()(const core::IdentityChange& change) {
    batch.identity.try_emplace(core::KeyOf(change.row), change.removed ? nullptr : &change.row);
  }
  void operator()(const std::shared_ptr<const core::Reservation>& row) {
    batch.reservations.try_emplace(row->name, row.get());
  }
  void operator()(const core::DeleteReservation& deleted) { batch.reservations.try_emplace(deleted.name, nullptr); }
  void operator()(const core::HistoryEntry& entry) { batch.history.push_back(&entry); }
};

}  // namespace

CommitBatch Coalesce(const std::vector<core::Mutation>& mutations) {
  CommitBatch batch;
  Backward visit{batch};
  for (auto it = mutations.rbegin(); it != mutations.rend(); ++it) std::visit(visit, *it);
  std::reverse(batch.history.begin(), batch.history.end());
  return batch;
}

Status StaleEpoch(std::uint64_t given, std::uint64_t newest) {
  return Status(StatusCode::kAborted,
                fmt::format("epoch {} is not the newest, which is {}: another scheduler leads", given, newest))
      .WithReason("STALE_EPOCH");
}

}  // namespace glim::store
