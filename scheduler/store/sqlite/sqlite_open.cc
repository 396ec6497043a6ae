// Opening: pragmas, the check whose file it is, migrations, prepared statements.
#include <fmt/format.h>

#include <span>

#include "scheduler/store/sqlite/sqlite_store.h"

namespace glim::store {

namespace {

constexpr std::int64_t kApplicationId = 0x474c494d;  // "GLIM", in the file's header

Status Configure(SqliteDb& db, const SqliteOptions& options) {
  // The journal mode is kept in the file, the rest is the connection's.
  auto journal = db.QueryText("PRAGMA journal_mode = WAL");
  if (!journal.ok()) return journal.status();
  if (*journal != "wal") {
    return Status(StatusCode::kFailedPrecondition, "the file system refuses SQLite's WAL mode")
        .WithReason("STORE_IO")
        .WithFix("put the database on a local disk");
  }
  if (Status s = db.Exec("PRAGMA synchronous = FULL;"
                         "PRAGMA trusted_schema = OFF;"
                         "PRAGMA cell_size_check = ON;"
                         "PRAGMA cache_size = -16384;"             // KiB; the kernel has the rest
                         "PRAGMA wal_autocheckpoint = 4000;"       // pages: fewer syncs of the main file
                         "PRAGMA journal_size_limit = 67108864");  // bytes, after a checkpoint
      !s.ok()) {
    return s;
  }
  if (options.bytes_max <= 0) return Status::Ok();
  auto page = db.QueryInt("PRAGMA page_size");
  if (!page.ok()) return page.status();
  return db.Exec(fmt::format("PRAGMA max_page_count = {}", options.bytes_max / *page).c_str());
}

// An empty file becomes ours; one with tables must say that it is.
Status CheckOwner(SqliteDb& db) {
  auto id = db.QueryInt("PRAGMA application_id");
  if (!id.ok()) return id.status();
  if (*id == kApplicationId) return Status::Ok();
  auto tables = db.QueryInt("SELECT count(*) FROM sqlite_schema");
  if (!tables.ok()) return tables.status();
  if (*id != 0 || *tables != 0) {
    return Status(StatusCode::kFailedPrecondition, "this file is another program's database")
        .WithReason("STORE_FOREIGN")
        .WithFix("give the scheduler a path of its own");
  }
  return db.Exec(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str());
}

Status Migrate(SqliteDb& db, std::span<const Migration> all) {
  if (Status s = db.Exec(kCreateMigrationsTable); !s.ok()) return s;
  auto version = db.QueryInt(kSelectVersion);
  if (!version.ok()) return version.status();
  auto pending = PendingMigrations(all, static_cast<int>(*version));
  if (!pending.ok()) return pending.status();
  for (const Migration& migration : *pending) {
    SqliteTransaction transaction(db);
    if (Status s = transaction.Begin(); !s.ok()) return s;
    if (Status s = db.Exec(migration.sql); !s.ok()) return s;
    auto record = db.Prepare("INSERT INTO schema_migrations (version, name) VALUES (?1, ?2)");
    if (!record.ok()) return record.status();
    if (Status s = record->Run(migration.version, migration.name); !s.ok()) return s;
    if (Status s = transaction.Commit(); !s.ok()) return s;
  }
  return Status::Ok();
}

struct NamedSql {
  SqliteStatement& statement;
  const char* sql;
};

Status PrepareAll(SqliteDb& db, std::span<const NamedSql> all) {
  for (const auto& [statement, sql] : all) {
    auto prepared = db.Prepare(sql);
    if (!prepared.ok()) return prepared.status();
    statement = std::move(prepared).value();
  }
  return Status::Ok();
}

}  // namespace

Result<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& path, const SqliteOptions& options) {
  auto file = SqliteFile::Claim(path);
  if (!file.ok()) return file.status();
  auto db = SqliteDb::Open(file->path());
  if (!db.ok()) return db.status();
  // Somebody may look at the file with SQLite's shell: wait for a reader's checkpoint rather than fail.
  if (Status s = (*db)->Exec("PRAGMA busy_timeout = 5000"); !s.ok()) return s;
  if (Status s = CheckOwner(**db); !s.ok()) return s;
  if (Status s = Configure(**db, options); !s.ok()) return s;
  if (Status s = Migrate(**db, options.migrations); !s.ok()) return s;
  std::unique_ptr<SqliteStore> store(new SqliteStore(std::move(file).value(), std::move(db).value()));
  if (Status s = store->Prepare(); !s.ok()) return s;
  return store;
}

Status SqliteStore::Prepare() {
  const NamedSql all[] = {
      {sql_.get_meta, "SELECT value FROM meta WHERE key = ?1"},
      {sql_.set_meta, "UPDATE meta SET value = ?2 WHERE key = ?1"},
      {sql_.raise_meta, "UPDATE meta SET value = ?2 WHERE key = ?1 AND CAST(value AS INTEGER) < ?2"},
      {sql_.add_meta, "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO NOTHING"},
      {sql_.put_row,
       "INSERT INTO rows (kind, key, body) VALUES (?1, ?2, ?3) "
       "ON CONFLICT (kind, key) DO UPDATE SET body = excluded.body"},
      {sql_.delete_row, "DELETE FROM rows WHERE kind = ?1 AND key = ?2"},
      {sql_.load_rows, "SELECT key, body FROM rows WHERE kind = ?1 ORDER BY key"},
      {sql_.kinds, kSelectKinds},
      {sql_.add_history,
       "INSERT INTO history (at_ms, kind, job_id, attempt, node_id, text, facts) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"},
      {sql_.put_ended_job,
       "INSERT INTO ended_jobs "
       "(job_id, ended_at_ms, user_name, state, body, job_name, team, pool, class, figures) "
       "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) "
       "ON CONFLICT (job_id) DO UPDATE SET ended_at_ms = excluded.ended_at_ms, user_name = excluded.user_name, "
       "state = excluded.state, body = excluded.body, job_name = excluded.job_name, team = excluded.team, "
       "pool = excluded.pool, class = excluded.class, figures = excluded.figures"},
      {sql_.prune,
       "DELETE FROM history WHERE seq IN (SELECT seq FROM history WHERE at_ms < ?1 ORDER BY at_ms LIMIT ?2)"},
      {sql_.prune_ended_jobs,
       "DELETE FROM ended_jobs WHERE job_id IN "
       "(SELECT job_id FROM ended_jobs WHERE ended_at_ms < ?1 ORDER BY ended_at_ms LIMIT ?2)"},
      {sql_.trim,
       "DELETE FROM history WHERE seq IN "
       "(SELECT seq FROM history WHERE seq <= (SELECT max(seq) FROM history) - ?1 ORDER BY seq LIMIT ?2)"},
      {sql_.history_mean,
       "WITH RECURSIVE span (low, high) AS (SELECT (SELECT min(seq) FROM history), (SELECT max(seq) FROM history)), "
       "sample (seq) AS (SELECT low FROM span WHERE low IS NOT NULL UNION ALL "
       "SELECT seq + max(1, (high - low) / ?1) FROM sample, span WHERE seq + max(1, (high - low) / ?1) <= high) "
       "SELECT CAST(coalesce(avg(length(CAST(text AS BLOB)) + length(CAST(facts AS BLOB))), 0) AS INTEGER) "
       "FROM sample CROSS JOIN history USING (seq)"},
      {sql_.trim_ended_jobs,
       "DELETE FROM ended_jobs WHERE job_id IN "
       "(SELECT job_id FROM ended_jobs ORDER BY ended_at_ms DESC, job_id DESC LIMIT ?2 OFFSET ?1)"},
  };
  if (Status s = PrepareAudit(); !s.ok()) return s;
  if (Status s = PrepareLogTails(); !s.ok()) return s;
  if (Status s = history_.Prepare(*db_); !s.ok()) return s;
  return PrepareAll(*db_, all);
}

Status SqliteStore::PrepareAudit() {
  const NamedSql all[] = {
      {sql_.add_audit, "INSERT INTO audit (seq, at_ms, user_name, body, hash) VALUES (?1, ?2, ?3, ?4, ?5)"},
      {sql_.audit,
       "SELECT seq, at_ms, user_name, body, hash FROM audit WHERE seq > ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3"},
      {sql_.audit_of_user,
       "SELECT seq, at_ms, user_name, body, hash FROM audit WHERE user_name = ?4 AND seq > ?1 AND seq >= ?2 "
       "ORDER BY seq LIMIT ?3"},
      {sql_.audit_since, "SELECT seq FROM audit WHERE at_ms >= ?1 ORDER BY at_ms, seq LIMIT 1"},
      {sql_.last_audit, "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1"},
      {sql_.audit_before, "SELECT seq FROM audit WHERE at_ms < ?1 ORDER BY at_ms DESC, seq DESC LIMIT 1"},
      {sql_.audit_hash,
       "SELECT hash FROM audit WHERE seq = ?2 AND (SELECT count(*) FROM audit WHERE seq > ?1 AND seq <= ?2) = ?2 - ?1"},
      {sql_.prune_audit, "DELETE FROM audit WHERE seq <= ?1"},
  };
  return PrepareAll(*db_, all);
}

// Text is bound, bytes are kept: the cast changes none of them.
Status SqliteStore::PrepareLogTails() {
  const NamedSql all[] = {
      {sql_.put_log_tail,
       "INSERT INTO log_tails (job_id, attempt, rank, ended_at_ms, node, first_byte, bytes, data) "
       "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, CAST(?8 AS BLOB)) "
       "ON CONFLICT (job_id, attempt, rank) DO UPDATE SET ended_at_ms = excluded.ended_at_ms, node = excluded.node, "
       "first_byte = excluded.first_byte, bytes = excluded.bytes, data = excluded.data"},
      {sql_.log_tail,
       "SELECT attempt, ended_at_ms, node, first_byte, data FROM log_tails "
       "WHERE job_id = ?1 AND rank = ?3 AND (?2 = 0 OR attempt = ?2) ORDER BY attempt DESC LIMIT 1"},
      {sql_.log_tails_since, "SELECT job_id, attempt, rank FROM log_tails WHERE ended_at_ms >= ?1 LIMIT ?2"},
      {sql_.prune_log_tails,
       "DELETE FROM log_tails WHERE (job_id, attempt, rank) IN "
       "(SELECT job_id, attempt, rank FROM log_tails WHERE ended_at_ms < ?1 ORDER BY ended_at_ms LIMIT ?2)"},
      {sql_.trim_log_tails,
       "DELETE FROM log_tails WHERE (job_id, attempt, rank) IN "
       "(SELECT job_id, attempt, rank FROM (SELECT job_id, attempt, rank, ended_at_ms, sum(bytes) OVER "
       "(ORDER BY ended_at_ms DESC, job_id DESC, attempt DESC, rank DESC) AS upto FROM log_tails) "
       "WHERE upto > ?1 ORDER BY ended_at_ms, job_id, attempt, rank LIMIT ?2)"},
  };
  return PrepareAll(*db_, all);
}

}  // namespace glim::store
