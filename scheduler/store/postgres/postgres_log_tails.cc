// The ends of logs in PostgreSQL.
#include <pqxx/binarystring>

#include "scheduler/store/codec/row_codec.h"
#include "scheduler/store/contract/store_limits.h"
#include "scheduler/store/postgres/postgres_store.h"

namespace glim::store {
Status PostgresStore::PutLogTails(std::uint64_t epoch, const std::vector<LogTail>& tails) {
  return RunFenced("keep ends of logs", epoch, [&](pqxx::work& transaction) {
    for (const LogTail& tail : tails) {
      const auto bytes = static_cast<std::int64_t>(tail.data.size()) + kLogTailRowBytes;
      transaction.exec_prepared("put_log_tail", tail.attempt.job.value, tail.attempt.number, tail.rank,
                                tail.ended_at.ms, CleanText(tail.node), tail.offset, bytes,
                                pqxx::binarystring(tail.data));
    }
  });
}

Result<std::optional<LogTail>> PostgresStore::FindLogTail(core::JobId job, std::uint32_t attempt, std::uint32_t rank) {
  std::optional<LogTail> found;
  const Status status = session_.Run("read the end of a log", [&](pqxx::connection& connection) -> Status {
    found.reset();
    pqxx::nontransaction query(connection);
    for (const pqxx::row& row : query.exec_prepared("log_tail", job.value, attempt, rank)) {
      found = LogTail{{job, row[0].as<std::uint32_t>()},
                      rank,
                      TimePoint{row[1].as<std::int64_t>()},
                      row[2].as<std::string>(),
                      row[3].as<std::int64_t>(),
                      pqxx::binarystring(row[4]).str()};
    }
    return Status::Ok();
  });
  if (!status.ok()) return status;
  return found;
}

Result<std::vector<LogTailKey>> PostgresStore::LogTailsSince(TimePoint since) {
  std::vector<LogTailKey> found;
  const Status status = session_.Run("list ends of logs", [&](pqxx::connection& connection) -> Status {
    found.clear();
    pqxx::nontransaction query(connection);
    for (const pqxx::row& row : query.exec_prepared("log_tails_since", since.ms, kHistoryMax)) {
      const core::AttemptId attempt{core::JobId(row[0].as<std::uint64_t>()), row[1].as<std::uint32_t>()};
      found.push_back({attempt, row[2].as<std::uint32_t>()});
    }
    return Status::Ok();
  });
  if (!status.ok()) return status;
  return found;
}

Result<std::size_t> PostgresStore::TrimLogTails(std::uint64_t epoch, TimePoint before, std::int64_t bytes_max) {
  std::size_t gone = 0;
  // Repeated after a lost answer it deletes the next ones: the count is of the last run.
  const Status status = RunFenced("trim ends of logs", epoch, [&](pqxx::work& transaction) {
    gone = transaction.exec_prepared("prune_log_tails", before.ms, kLogTailPruneMax).affected_rows();
    gone += transaction.exec_prepared("trim_log_tails", bytes_max, kLogTailPruneMax).affected_rows();
  });
  if (!status.ok()) return status;
  return gone;
}

}  // namespace glim::store
