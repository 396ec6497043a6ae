// The store for production, and for a standby scheduler: PostgreSQL 13 or newer through libpqxx.
//
// Every transaction that writes locks the meta rows `commits` and `epoch` first and checks the epoch under that lock:
// once AcquireEpoch has returned, no commit of an earlier leader can succeed any more.
//
// A connection lost during COMMIT leaves its outcome unknown. `commits` settles it: each commit raises it by one, so
// the next connection, once it has the lock, sees whether the last one went through, and repeats it only if not.
//
// Waits are bounded: calls block for up to about a minute while the database is away, then fail with kUnavailable.
// Durability is the server's: synchronous_commit=off is overruled here, fsync=off cannot be.
//
// Sources: postgres_store.cc, postgres_open.cc (settings, statements, migrations)
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "scheduler/store/contract/store.h"
#include "scheduler/store/migrations/migration.h"
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
  Result<std::unique_ptr<core::ClusterState>> Load() override;
  using Store::Commit;
  Status Commit(std::uint64_t epoch, const std::vector<core::Mutation>& mutations,
                const std::vector<EndedJob>& ended) override;
  Result<std::vector<StoredHistory>> History(const HistoryQuery& query) override;
  Result<std::uint64_t> LastHistory() override;
  Result<std::vector<EndedJob>> EndedJobs(const EndedJobsQuery& query) override;
  Result<std::size_t> PruneHistory(std::uint64_t epoch, TimePoint before) override;
  Result<std::size_t> TrimHistory(std::uint64_t epoch, std::size_t entries_max, std::size_t ended_jobs_max) override;
  Result<std::string> ClusterId(const std::string& if_new) override;
  const char* name() const override { return "postgres"; }

 private:
  explicit PostgresStore(std::string conninfo, const PostgresRetry& retry);

  Status CheckEncoding();
  Result<std::size_t> DeleteHistory(std::uint64_t epoch, const char* entries, std::int64_t entries_bound,
                                    const char* ended_jobs, std::int64_t ended_jobs_bound);
  Status Migrate(std::span<const Migration> all);

  PostgresSession session_;
};

}  // namespace glim::store
