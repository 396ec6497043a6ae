// The ends of logs in SQLite.
#include "scheduler/store/codec/row_codec.h"
#include "scheduler/store/contract/store_limits.h"
#include "scheduler/store/sqlite/sqlite_store.h"

namespace glim::store {

Status SqliteStore::PutLogTails(std::uint64_t epoch, const std::vector<LogTail>& tails) {
  SqliteTransaction transaction(*db_);
  if (Status s = transaction.Begin(); !s.ok()) return s;
  if (Status s = CheckEpoch(epoch); !s.ok()) return s;
  for (const LogTail& tail : tails) {
    const auto bytes = static_cast<std::int64_t>(tail.data.size()) + kLogTailRowBytes;
    Status s = sql_.put_log_tail.Run(tail.attempt.job.value, tail.attempt.number, tail.rank, tail.ended_at.ms,
                                     CleanText(tail.node), tail.offset, bytes, tail.data);
    if (!s.ok()) return s;
  }
  return transaction.Commit();
}

Result<std::optional<LogTail>> SqliteStore::FindLogTail(core::JobId job, std::uint32_t attempt, std::uint32_t rank) {
  SqliteStatement& query = sql_.log_tail;
  query.Bind(job.value, attempt, rank);
  auto row = query.Step();
  if (!row.ok()) return row.status();
  if (!*row) return std::optional<LogTail>();
  LogTail tail{{job, static_cast<std::uint32_t>(query.Int(0))},
               rank,
               TimePoint{query.Int(1)},
               std::string(query.Text(2)),
               query.Int(3),
               std::string(query.Text(4))};
  query.Reset();
  return std::optional(std::move(tail));
}

Result<std::vector<LogTailKey>> SqliteStore::LogTailsSince(TimePoint since) {
  SqliteStatement& query = sql_.log_tails_since;
  query.Bind(since.ms, kHistoryMax);
  std::vector<LogTailKey> found;
  for (;;) {
    auto row = query.Step();
    if (!row.ok()) return row.status();
    if (!*row) return found;
    const core::AttemptId attempt{core::JobId(query.Unsigned(0)), static_cast<std::uint32_t>(query.Int(1))};
    found.push_back({attempt, static_cast<std::uint32_t>(query.Int(2))});
  }
}

Result<std::size_t> SqliteStore::TrimLogTails(std::uint64_t epoch, TimePoint before, std::int64_t bytes_max) {
  SqliteTransaction transaction(*db_);
  if (Status s = transaction.Begin(); !s.ok()) return s;
  if (Status s = CheckEpoch(epoch); !s.ok()) return s;
  if (Status s = sql_.prune_log_tails.Run(before.ms, kLogTailPruneMax); !s.ok()) return s;
  std::int64_t gone = db_->changes();
  if (Status s = sql_.trim_log_tails.Run(bytes_max, kLogTailPruneMax); !s.ok()) return s;
  gone += db_->changes();
  if (Status s = transaction.Commit(); !s.ok()) return s;
  return static_cast<std::size_t>(gone);
}

}  // namespace glim::store
