// Opening: the session's settings and statements, and migrations.
#include <fmt/format.h>

#include "scheduler/store/codec/row_codec.h"
#include "scheduler/store/postgres/postgres_commit.h"
#include "scheduler/store/postgres/postgres_conninfo.h"
#include "scheduler/store/postgres/postgres_store.h"

namespace glim::store {

namespace {

// Two schedulers that start at once migrate one after the other. Any number will do that nobody else uses.
constexpr std::int64_t kMigrationLock = 0x676c696d;

constexpr std::pair<const char*, const char*> kStatements[] = {
    {"lock_meta", "SELECT key, value FROM meta WHERE key IN ('commits', 'epoch') ORDER BY key FOR UPDATE"},
    {"set_meta", "UPDATE meta SET value = $2 WHERE key = $1"},
    {"add_meta", "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING"},
    {"get_meta", "SELECT value FROM meta WHERE key = $1"},
    {"kinds", kSelectKinds},
    {"load_rows", "SELECT key, body FROM rows WHERE kind = $1 AND key > $2 ORDER BY key LIMIT $3"},
    {"audit", "SELECT seq, at_ms, user_name, body, hash FROM audit WHERE seq > $1 AND seq >= $2 ORDER BY seq LIMIT $3"},
    {"audit_of_user",
     "SELECT seq, at_ms, user_name, body, hash FROM audit WHERE user_name = $4 AND seq > $1 AND seq >= $2 "
     "ORDER BY seq LIMIT $3"},
    {"audit_since", "SELECT seq FROM audit WHERE at_ms >= $1 ORDER BY at_ms, seq LIMIT 1"},
    {"last_audit", "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1"},
    {"audit_before", "SELECT seq FROM audit WHERE at_ms < $1 ORDER BY at_ms DESC, seq DESC LIMIT 1"},
    {"audit_hash",
     "SELECT hash FROM audit WHERE seq = $2::bigint AND "
     "(SELECT count(*) FROM audit WHERE seq > $1::bigint AND seq <= $2::bigint) = $2::bigint - $1::bigint"},
    {"prune_audit", "DELETE FROM audit WHERE seq <= $1"},
    {"last_history", "SELECT coalesce(max(seq), 0) FROM history"},
    {"prune", "DELETE FROM history WHERE seq IN (SELECT seq FROM history WHERE at_ms < $1 ORDER BY at_ms LIMIT $2)"},
    {"prune_ended_jobs",
     "DELETE FROM ended_jobs WHERE job_id IN "
     "(SELECT job_id FROM ended_jobs WHERE ended_at_ms < $1 ORDER BY ended_at_ms LIMIT $2)"},
    {"trim",
     "DELETE FROM history WHERE seq IN "
     "(SELECT seq FROM history WHERE seq <= (SELECT max(seq) FROM history) - $1 ORDER BY seq LIMIT $2)"},
    {"history_mean",
     "SELECT coalesce(avg(octet_length(h.text) + octet_length(h.facts)), 0)::bigint FROM "
     "(SELECT min(seq) AS low, max(seq) AS high FROM history) AS span CROSS JOIN LATERAL "
     "generate_series(low, high, greatest(1, (high - low) / $1::bigint)) AS sample (seq) JOIN history AS h "
     "ON h.seq = sample.seq"},
    {"trim_ended_jobs",
     "DELETE FROM ended_jobs WHERE job_id IN "
     "(SELECT job_id FROM ended_jobs ORDER BY ended_at_ms DESC, job_id DESC LIMIT $2 OFFSET $1)"},
    {"put_log_tail",
     "INSERT INTO log_tails (job_id, attempt, rank, ended_at_ms, node, first_byte, bytes, data) "
     "VALUES ($1, $2, $3, $4, $5, $6, $7, $8::bytea) "
     "ON CONFLICT (job_id, attempt, rank) DO UPDATE SET ended_at_ms = excluded.ended_at_ms, node = excluded.node, "
     "first_byte = excluded.first_byte, bytes = excluded.bytes, data = excluded.data"},
    {"log_tail",
     "SELECT attempt, ended_at_ms, node, first_byte, data FROM log_tails "
     "WHERE job_id = $1 AND rank = $3 AND ($2 = 0 OR attempt = $2) ORDER BY attempt DESC LIMIT 1"},
    {"log_tails_since", "SELECT job_id, attempt, rank FROM log_tails WHERE ended_at_ms >= $1 LIMIT $2"},
    {"prune_log_tails",
     "DELETE FROM log_tails WHERE (job_id, attempt, rank) IN "
     "(SELECT job_id, attempt, rank FROM log_tails WHERE ended_at_ms < $1 ORDER BY ended_at_ms LIMIT $2)"},
    {"trim_log_tails",
     "DELETE FROM log_tails WHERE (job_id, attempt, rank) IN "
     "(SELECT job_id, attempt, rank FROM (SELECT job_id, attempt, rank, ended_at_ms, sum(bytes) OVER "
     "(ORDER BY ended_at_ms DESC, job_id DESC, attempt DESC, rank DESC) AS upto FROM log_tails) AS all_of_them "
     "WHERE upto > $1 ORDER BY ended_at_ms, job_id, attempt, rank LIMIT $2)"},
};

// Through set_variable and prepare, so that libpqxx restores them should it reconnect by itself.
void SetUp(pqxx::connection& connection) {
  connection.set_client_encoding("UTF8");
  connection.set_variable("default_transaction_isolation", "'read committed'");
  connection.set_variable("lock_timeout", "'5s'");
  connection.set_variable("statement_timeout", "'60s'");
  // A scheduler that froze inside a transaction must not keep its successor waiting.
  connection.set_variable("idle_in_transaction_session_timeout", "'15s'");
  if (connection.get_variable("synchronous_commit") == "off") connection.set_variable("synchronous_commit", "'on'");
  connection.prepare(kCommitStatement, CommitSql());
  for (const auto& [name, sql] : kStatements) connection.prepare(name, sql);
  PrepareHistory(connection);
}

}  // namespace

PostgresStore::PostgresStore(std::string conninfo, const PostgresRetry& retry)
    : conninfo_(std::move(conninfo)), retry_(retry), session_(conninfo_, retry, SetUp) {}

Result<std::unique_ptr<PostgresStore>> PostgresStore::Open(const std::string& location,
                                                           const PostgresOptions& options) {
  auto conninfo = PostgresConnInfo(location);
  if (!conninfo.ok()) return conninfo.status();
  std::unique_ptr<PostgresStore> store(new PostgresStore(std::move(conninfo).value(), options.retry));
  if (Status s = store->CheckEncoding(); !s.ok()) return s;
  if (Status s = store->Migrate(options.migrations); !s.ok()) return s;
  return store;
}

Status PostgresStore::CheckEncoding() {
  return session_.Run("check the encoding", [](pqxx::connection& connection) -> Status {
    pqxx::nontransaction query(connection);
    const auto encoding = query.exec1("SHOW server_encoding")[0].as<std::string>();
    if (encoding == "UTF8") return Status::Ok();
    return Status(StatusCode::kFailedPrecondition, "the database's encoding is " + encoding + ", not UTF8")
        .WithReason("STORE_FOREIGN")
        .WithFix("create it with ENCODING 'UTF8' TEMPLATE template0");
  });
}

Status PostgresStore::Migrate(std::span<const Migration> all) {
  bool done = false;
  while (!done) {
    // One at a time, and the version read anew under the lock: somebody else may be at it too.
    Status status = session_.Run("migrate the schema", [&](pqxx::connection& connection) -> Status {
      pqxx::work transaction(connection);
      transaction.exec_params1("SELECT pg_advisory_xact_lock($1)", kMigrationLock);
      transaction.exec0(kCreateMigrationsTable);
      const int version = transaction.exec1(kSelectVersion)[0].as<int>();
      auto pending = PendingMigrations(all, version);
      if (!pending.ok()) return pending.status();
      done = pending->empty();
      if (!done) {
        const Migration& next = pending->front();
        transaction.exec0(next.sql);
        transaction.exec_params0("INSERT INTO schema_migrations (version, name) VALUES ($1, $2)", next.version,
                                 next.name);
      }
      transaction.commit();
      return Status::Ok();
    });
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Result<std::string> PostgresStore::Mark(const std::string& name) {
  std::string mark;
  const Status status = session_.Run("read a mark", [&](pqxx::connection& connection) -> Status {
    mark.clear();
    pqxx::nontransaction query(connection);
    for (const pqxx::row& row : query.exec_prepared("get_meta", MarkKey(name))) mark = row[0].as<std::string>();
    return Status::Ok();
  });
  if (!status.ok()) return status;
  return mark;
}

Status PostgresStore::PutMark(std::uint64_t epoch, const std::string& name, const std::string& mark) {
  return RunFenced("keep a mark", epoch, [&](pqxx::work& transaction) {
    transaction.exec_prepared0("add_meta", MarkKey(name), CleanText(mark));
    transaction.exec_prepared0("set_meta", MarkKey(name), CleanText(mark));
  });
}

Status PostgresStore::ResetEpoch(std::uint64_t epoch, std::uint64_t to) {
  return RunFenced("set the epoch back", epoch, [&](pqxx::work& transaction) {
    transaction.exec_prepared0("set_meta", "epoch", std::to_string(to));
  });
}

Result<std::string> PostgresStore::ClusterId(const std::string& if_new) {
  std::string id;
  Status status = session_.Run("read the cluster's id", [&](pqxx::connection& connection) -> Status {
    pqxx::work transaction(connection);
    transaction.exec_prepared0("add_meta", "cluster_id", CleanText(if_new));
    id = transaction.exec_prepared1("get_meta", "cluster_id")[0].as<std::string>();
    transaction.commit();
    return Status::Ok();
  });
  if (!status.ok()) return status;
  return id;
}

}  // namespace glim::store
