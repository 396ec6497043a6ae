// The embedded store: one SQLite file in WAL mode, synchronous=FULL, one transaction a commit. The file must lie on a
// disk: on tmpfs nothing survives the machine, whatever SQLite promises.
//
// Sources: sqlite_store.cc, sqlite_open.cc (pragmas, ownership, migrations), sqlite_audit.cc, sqlite_log_tails.cc; what
// outlives the rows is read by sqlite_history.h
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "scheduler/store/codec/commit_batch.h"
#include "scheduler/store/contract/store.h"
#include "scheduler/store/migrations/migration.h"
#include "scheduler/store/sqlite/sqlite_db.h"
#include "scheduler/store/sqlite/sqlite_file.h"
#include "scheduler/store/sqlite/sqlite_history.h"

namespace glim::store {

struct SqliteOptions {
  std::int64_t bytes_max = 0;  // of the database file; 0: as large as the disk allows
  std::span<const Migration> migrations = SqliteMigrations();
};

class SqliteStore final : public Store {
 public:
  // Creates or migrates the file as needed. kFailedPrecondition: another scheduler has it (STORE_LOCKED), a newer one
  // wrote it (STORE_TOO_NEW), or it is another program's (STORE_FOREIGN). kDataLoss: it is not a database.
  static Result<std::unique_ptr<SqliteStore>> Open(const std::string& path, const SqliteOptions& options = {});

  using Store::AcquireEpoch;
  Result<std::uint64_t> AcquireEpoch(std::uint64_t at_least) override;
  Result<std::uint64_t> NewestEpoch() override { return MetaNumber("epoch"); }
  Status ResetEpoch(std::uint64_t epoch, std::uint64_t to) override;
  Result<std::unique_ptr<core::ClusterState>> Load() override;
  using Store::Commit;
  Status Commit(std::uint64_t epoch, const std::vector<core::Mutation>& mutations, const std::vector<EndedJob>& ended,
                const std::vector<AuditRow>& audit) override;
  Result<std::vector<StoredHistory>> History(const HistoryQuery& query) override { return history_.History(query); }
  Result<std::uint64_t> LastHistory() override { return history_.LastHistory(); }
  Result<std::vector<EndedJob>> EndedJobs(const EndedJobsQuery& query) override { return history_.EndedJobs(query); }
  Status EachEnded(const EndedFiguresQuery& query, const std::function<void(const EndedFigures&)>& each) override {
    return history_.EachEnded(query, each);
  }
  Result<std::unique_ptr<HistoryReader>> OpenReader() override { return SqliteReader::Open(file_.path()); }
  Result<std::vector<AuditRow>> Audit(const AuditQuery& query) override;
  Result<AuditEnd> LastAudit() override;
  Result<AuditEnd> AuditBase() override;
  Result<std::size_t> PruneAudit(std::uint64_t epoch, TimePoint before) override;
  Result<std::size_t> PruneHistory(std::uint64_t epoch, TimePoint before) override;
  Result<std::size_t> TrimHistory(std::uint64_t epoch, const HistoryBounds& bounds) override;
  Status PutLogTails(std::uint64_t epoch, const std::vector<LogTail>& tails) override;
  Result<std::optional<LogTail>> FindLogTail(core::JobId job, std::uint32_t attempt, std::uint32_t rank) override;
  Result<std::vector<LogTailKey>> LogTailsSince(TimePoint since) override;
  Result<std::size_t> TrimLogTails(std::uint64_t epoch, TimePoint before, std::int64_t bytes_max) override;
  Result<std::string> Mark(const std::string& name) override;
  Status PutMark(std::uint64_t epoch, const std::string& name, const std::string& mark) override;
  Result<std::string> ClusterId(const std::string& if_new) override;
  const char* name() const override { return "sqlite"; }

 private:
  struct Statements {
    SqliteStatement get_meta, set_meta, raise_meta, add_meta;
    SqliteStatement put_row, delete_row, load_rows, kinds, add_history, put_ended_job;
    SqliteStatement add_audit, audit, audit_of_user, audit_since, last_audit;
    SqliteStatement audit_before, audit_hash, prune_audit;
    SqliteStatement prune, prune_ended_jobs, trim, trim_ended_jobs, history_mean;
    SqliteStatement put_log_tail, log_tail, log_tails_since, prune_log_tails, trim_log_tails;
  };

  SqliteStore(SqliteFile file, std::unique_ptr<SqliteDb> db) : file_(std::move(file)), db_(std::move(db)) {}

  Status Prepare();
  Status PrepareAudit();
  Status PrepareLogTails();
  Result<std::string> Meta(const char* key);
  Result<std::uint64_t> MetaNumber(const char* key);
  Status CheckEpoch(std::uint64_t epoch);
  Status Write(const CommitBatch& batch);
  Status WriteAudit(const std::vector<AuditRow>& audit);
  Status WriteEndedJobs(const std::vector<EndedJob>& ended);
  Result<std::size_t> DeleteHistory(std::uint64_t epoch, SqliteStatement& entries, std::int64_t entries_bound,
                                    SqliteStatement& ended_jobs, std::int64_t ended_jobs_bound);
  Status LoadRows(class StateLoader& loader);

  SqliteFile file_;  // unlocked after the database is closed
  std::unique_ptr<SqliteDb> db_;
  Statements sql_;  // finalised before the database is closed, and so are the next one's
  SqliteHistory history_;
};

}  // namespace glim::store
