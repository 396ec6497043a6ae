// What outlives the rows, read from SQLite: by the store itself on its own connection, and by a reader on another one,
// which sees what was committed when each question began and holds up no commit (WAL).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/store/contract/store.h"
#include "scheduler/store/sqlite/sqlite_db.h"

namespace glim::store {

// The number of the first row that is not older than `since`, as the statement finds it by its index: rows are written
// in the order of their time.
Result<std::int64_t> FirstSince(SqliteStatement& query, TimePoint since);

class SqliteHistory {
 public:
  // `db` outlives it.
  Status Prepare(SqliteDb& db);

  Result<std::vector<HistoryReader::StoredHistory>> History(const HistoryReader::HistoryQuery& query);
  Result<std::uint64_t> LastHistory();
  Result<std::vector<EndedJob>> EndedJobs(const EndedJobsQuery& query);
  Status EachEnded(const EndedFiguresQuery& query, const std::function<void(const EndedFigures&)>& each);

 private:
  // By which index ended jobs are looked through.
  enum By { kByTime, kByUser, kByTeam, kByPool, kByClass, kByName, kBys };

  static By IndexFor(const EndedJobsQuery& query);

  SqliteStatement all_, of_job_, of_node_, of_states_, of_hardware_, since_, last_, figures_;
  std::array<SqliteStatement, kBys> ended_;
};

class SqliteReader final : public HistoryReader {
 public:
  // A file that a SqliteStore has open.
  static Result<std::unique_ptr<HistoryReader>> Open(const std::string& path);

  Result<std::vector<StoredHistory>> History(const HistoryQuery& query) override { return history_.History(query); }
  Result<std::vector<EndedJob>> EndedJobs(const EndedJobsQuery& query) override { return history_.EndedJobs(query); }
  Status EachEnded(const EndedFiguresQuery& query, const std::function<void(const EndedFigures&)>& each) override {
    return history_.EachEnded(query, each);
  }

 private:
  explicit SqliteReader(std::unique_ptr<SqliteDb> db) : db_(std::move(db)) {}

  std::unique_ptr<SqliteDb> db_;
  SqliteHistory history_;  // its statements are finalised before the database is closed
};

}  // namespace glim::store
