#include "scheduler/store/sqlite/sqlite_store.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/store/codec/ended_figures.h"
#include "scheduler/store/codec/row_codec.h"
#include "scheduler/store/codec/state_loader.h"
#include "scheduler/store/contract/store_limits.h"

namespace glim::store {

Result<std::string> SqliteStore::Meta(const char* key) {
  sql_.get_meta.Bind(std::string_view(key));
  auto row = sql_.get_meta.Step();
  if (!row.ok()) return row.status();
  if (!*row) {
    return Status(StatusCode::kDataLoss, fmt::format("table meta, row {}: missing", key)).WithReason("STORE_CORRUPT");
  }
  std::string value(sql_.get_meta.Text(0));
  sql_.get_meta.Reset();
  return value;
}

Result<std::uint64_t> SqliteStore::MetaNumber(const char* key) {
  auto text = Meta(key);
  if (!text.ok()) return text.status();
  std::uint64_t number = 0;
  const char* end = text->data() + text->size();
  if (const auto parsed = std::from_chars(text->data(), end, number); parsed.ec != std::errc() || parsed.ptr != end) {
    return Status(StatusCode::kDataLoss, fmt::format("table meta, row {}: not a number", key))
        .WithReason("STORE_CORRUPT");
  }
  return number;
}

Status SqliteStore::CheckEpoch(std::uint64_t epoch) {
  auto newest = MetaNumber("epoch");
  if (!newest.ok()) return newest.status();
  return epoch == *newest ? Status::Ok() : StaleEpoch(epoch, *newest);
}

Result<std::uint64_t> SqliteStore::AcquireEpoch(std::uint64_t at_least) {
  SqliteTransaction transaction(*db_);
  if (Status s = transaction.Begin(); !s.ok()) return s;
  auto epoch = MetaNumber("epoch");
  if (!epoch.ok()) return epoch.status();
  const std::uint64_t next = std::max(*epoch + 1, at_least);
  if (Status s = sql_.set_meta.Run("epoch", std::to_string(next)); !s.ok()) return s;
  if (Status s = transaction.Commit(); !s.ok()) return s;
  return next;
}

Status SqliteStore::ResetEpoch(std::uint64_t epoch, std::uint64_t to) {
  SqliteTransaction transaction(*db_);
  if (Status s = transaction.Begin(); !s.ok()) return s;
  if (Status s = CheckEpoch(epoch); !s.ok()) return s;
  if (Status s = sql_.set_meta.Run("epoch", std::to_string(to)); !s.ok()) return s;
  return transaction.Commit();
}

Status SqliteStore::LoadRows(StateLoader& loader) {
  const auto each = [](SqliteStatement& statement, auto add) -> Status {
    for (;;) {
      auto row = statement.Step();
      if (!row.ok()) return row.status();
      if (!*row) return Status::Ok();
      if (Status s = add(); !s.ok()) {
        statement.Reset();
        return s;
      }
    }
  };
  if (Status s = each(sql_.kinds, [&] { return StateLoader::CheckKind(sql_.kinds.Text(0)); }); !s.ok()) return s;
  for (const std::string_view kind : StateLoader::Kinds()) {
    sql_.load_rows.Bind(kind);
    const auto add = [&] { return loader.Add(kind, sql_.load_rows.Text(0), sql_.load_rows.Text(1)); };
    if (Status s = each(sql_.load_rows, add); !s.ok()) return s;
  }
  return Status::Ok();
}

Result<std::unique_ptr<core::ClusterState>> SqliteStore::Load() {
  SqliteTransaction transaction(*db_);
  if (Status s = transaction.Begin(); !s.ok()) return s;
  StateLoader loader;
  if (Status s = LoadRows(loader); !s.ok()) return s;
  auto next_job = MetaNumber("next_job");
  if (!next_job.ok()) return next_job.status();
  auto next_node = MetaNumber("next_node");
  if (!next_node.ok()) return next_node.status();
  return std::move(loader).Finish({core::JobId(*next_job), core::NodeId(static_cast<std::uint32_t>(*next_node))});
}

Status SqliteStore::Write(const CommitBatch& batch) {
  for (const DeletedRow& row : batch.deleted) {
    if (Status s = sql_.delete_row.Run(row.kind, row.key); !s.ok()) return s;
  }
  for (const StoredRow& row : batch.rows) {
    if (Status s = sql_.put_row.Run(row.kind, row.key, row.body); !s.ok()) return s;
  }
  for (const core::HistoryEntry* entry : batch.history) {
    Status s = sql_.add_history.Run(entry->at.ms, core::WordOf(entry->kind), entry->job.value, entry->attempt,
                                    entry->node.value, CleanText(entry->text), EncodeHistoryFacts(entry->facts));
    if (!s.ok()) return s;
  }
  if (!batch.ids) return Status::Ok();
  if (Status s = sql_.raise_meta.Run("next_job", batch.ids->next_job.value); !s.ok()) return s;
  return sql_.raise_meta.Run("next_node", batch.ids->next_node.value);
}

Status SqliteStore::WriteEndedJobs(const std::vector<EndedJob>& ended) {
  for (const EndedJob& job : ended) {
    Status s = sql_.put_ended_job.Run(job.id.value, job.ended_at.ms, CleanText(job.user), core::WordOf(job.state),
                                      EncodeEndedJob(job), CleanText(job.name), CleanText(job.team),
                                      CleanText(job.pool), core::WordOf(job.priority), WriteFigures(job));
    if (!s.ok()) return s;
  }
  return Status::Ok();
}

Status SqliteStore::Commit(std::uint64_t epoch, const std::vector<core::Mutation>& mutations,
                           const std::vector<EndedJob>& ended, const std::vector<AuditRow>& audit) {
  const CommitBatch batch = Coalesce(mutations);
  SqliteTransaction transaction(*db_);
  if (Status s = transaction.Begin(); !s.ok()) return s;
  if (Status s = CheckEpoch(epoch); !s.ok()) return s;
  if (Status s = Write(batch); !s.ok()) return s;
  if (Status s = WriteEndedJobs(ended); !s.ok()) return s;
  if (Status s = WriteAudit(audit); !s.ok()) return s;
  return transaction.Commit();
}

Result<std::size_t> SqliteStore::DeleteHistory(std::uint64_t epoch, SqliteStatement& entries,
                                               std::int64_t entries_bound, SqliteStatement& ended_jobs,
                                               std::int64_t ended_jobs_bound) {
  SqliteTransaction transaction(*db_);
  if (Status s = transaction.Begin(); !s.ok()) return s;
  if (Status s = CheckEpoch(epoch); !s.ok()) return s;
  if (Status s = entries.Run(entries_bound, kPruneMax); !s.ok()) return s;
  std::int64_t gone = db_->changes();
  if (Status s = ended_jobs.Run(ended_jobs_bound, kPruneMax); !s.ok()) return s;
  gone += db_->changes();
  if (Status s = transaction.Commit(); !s.ok()) return s;
  return static_cast<std::size_t>(gone);
}

Result<std::size_t> SqliteStore::PruneHistory(std::uint64_t epoch, TimePoint before) {
  return DeleteHistory(epoch, sql_.prune, before.ms, sql_.prune_ended_jobs, before.ms);
}

Result<std::size_t> SqliteStore::TrimHistory(std::uint64_t epoch, const HistoryBounds& bounds) {
  sql_.history_mean.Bind(kHistorySample);
  auto row = sql_.history_mean.Step();
  if (!row.ok()) return row.status();
  const std::int64_t mean = *row ? sql_.history_mean.Int(0) : 0;
  sql_.history_mean.Reset();
  return DeleteHistory(epoch, sql_.trim, bounds.EntriesLeft(mean), sql_.trim_ended_jobs,
                       static_cast<std::int64_t>(bounds.ended_jobs_max));
}

Result<std::string> SqliteStore::Mark(const std::string& name) {
  const std::string key = MarkKey(name);
  sql_.get_meta.Bind(std::string_view(key));
  auto row = sql_.get_meta.Step();
  if (!row.ok()) return row.status();
  std::string mark(*row ? sql_.get_meta.Text(0) : "");
  sql_.get_meta.Reset();
  return mark;
}

Status SqliteStore::PutMark(std::uint64_t epoch, const std::string& name, const std::string& mark) {
  SqliteTransaction transaction(*db_);
  if (Status s = transaction.Begin(); !s.ok()) return s;
  if (Status s = CheckEpoch(epoch); !s.ok()) return s;
  const std::string key = MarkKey(name);
  if (Status s = sql_.add_meta.Run(key, CleanText(mark)); !s.ok()) return s;
  if (Status s = sql_.set_meta.Run(key, CleanText(mark)); !s.ok()) return s;
  return transaction.Commit();
}

Result<std::string> SqliteStore::ClusterId(const std::string& if_new) {
  SqliteTransaction transaction(*db_);
  if (Status s = transaction.Begin(); !s.ok()) return s;
  if (Status s = sql_.add_meta.Run("cluster_id", CleanText(if_new)); !s.ok()) return s;
  auto id = Meta("cluster_id");
  if (!id.ok()) return id.status();
  if (Status s = transaction.Commit(); !s.ok()) return s;
  return id;
}

}  // namespace glim::store
