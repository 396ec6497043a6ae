// The store whose state is on another machine than the scheduler's: PostgreSQL 13 or newer through libpqxx.
//
// A commit is one call of a stored function, which locks the meta rows `commits` and `epoch` first and writes only if
// both are what this leader left: once AcquireEpoch has returned, no commit of an earlier leader can succeed any more,
// and a database that fell over to a replica without the last commits is told apart (STORE_WENT_BACK) at the next one.
//
// A connection lost during a commit leaves its outcome unknown. `commits` settles it: each commit raises it by one, so
// the next try sees whether the last one went through, and repeats it only if not.
//
// Waits are bounded: a call blocks for up to about half a minute when the database goes away, then fails with
// kUnavailable (STORE_UNREACHABLE); while it stays away, each call is one try. Later calls work when it is back.
// Durability is the server's: synchronous_commit=off is overruled here, fsync=off cannot be.
//
// Sources: postgres_store.cc, postgres_open.cc (settings, statements, migrations), postgres_audit.cc,
// postgres_log_tails.cc; what outlives the rows is read by postgres_history.h; the commit is in postgres_commit.h
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scheduler/store/contract/store.h"
#include "scheduler/store/migrations/migration.h"
#include "scheduler/store/postgres/postgres_commit.h"
#include "scheduler/store/postgres/postgres_history.h"
#include "scheduler/store/postgres/postgres_session.h"

namespace glim::store {

struct PostgresOptions {
  PostgresRetry retry;
  std::span<const Migration> migrations = PostgresMigrations();
};

class PostgresStore final : public Store {
 public:
  // `location` as postgres_conninfo.h says. Migrates as needed; two schedulers may do so at once.
  static Result<std::unique_ptr<PostgresStore>> Open(const std::string& location, const PostgresOptions& options = {});

  using Store::AcquireEpoch;
  Result<std::uint64_t> AcquireEpoch(std::uint64_t at_least) override;
  Result<std::uint64_t> NewestEpoch() override;
  Status ResetEpoch(std::uint64_t epoch, std::uint64_t to) override;
  Result<std::unique_ptr<core::ClusterState>> Load() override;
  using Store::Commit;
  Status Commit(std::uint64_t epoch, const std::vector<core::Mutation>& mutations, const std::vector<EndedJob>& ended,
                const std::vector<AuditRow>& audit) override;
  Result<std::vector<StoredHistory>> History(const HistoryQuery& query) override {
    return ReadHistory(session_, query);
  }
  Result<std::uint64_t> LastHistory() override;
  Result<std::vector<EndedJob>> EndedJobs(const EndedJobsQuery& query) override {
    return ReadEndedJobs(session_, query);
  }
  Status EachEnded(const EndedFiguresQuery& query, const std::function<void(const EndedFigures&)>& each) override {
    return ReadFiguresOfAll(session_, query, each);
  }
  Result<std::unique_ptr<HistoryReader>> OpenReader() override {
    return std::unique_ptr<HistoryReader>(std::make_unique<PostgresReader>(conninfo_, retry_));
  }
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
  const char* name() const override { return "postgres"; }

 private:
  explicit PostgresStore(std::string conninfo, const PostgresRetry& retry);

  Status CheckEncoding();
  // Runs `write` in a transaction that holds the fence: not while, and not after, another leads. May be run twice.
  Status RunFenced(const char* what, std::uint64_t epoch, const std::function<void(pqxx::work&)>& write);
  Result<std::size_t> DeleteHistory(std::uint64_t epoch, const char* entries, std::int64_t entries_bound,
                                    const char* ended_jobs, std::int64_t ended_jobs_bound);
  Status Migrate(std::span<const Migration> all);
  Status LearnCommits(pqxx::connection& connection);
  Status Displaced(const PostgresFence& ours, const PostgresFence& found) const;

  const std::string conninfo_;
  const PostgresRetry retry_;
  PostgresSession session_;
  std::uint64_t acquired_ = 0;            // the epoch; 0: none
  std::optional<std::uint64_t> commits_;  // in the database when our last commit was done; none: not known yet
  bool in_doubt_ = false;                 // the next commit was sent, and is perhaps there already
};

}  // namespace glim::store
