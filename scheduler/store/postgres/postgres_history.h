// What outlives the rows, read from PostgreSQL: by the store on its own connection, and by a reader on another one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/store/contract/store.h"
#include "scheduler/store/postgres/postgres_session.h"

namespace glim::store {

// The statements of this file. Throws what pqxx throws.
void PrepareHistory(pqxx::connection& connection);

Result<std::vector<HistoryReader::StoredHistory>> ReadHistory(PostgresSession& session,
                                                              const HistoryReader::HistoryQuery& query);
Result<std::vector<EndedJob>> ReadEndedJobs(PostgresSession& session, const EndedJobsQuery& query);
// A connection that is lost on the way goes on with what is stored then, behind the last row that was given.
Status ReadFiguresOfAll(PostgresSession& session, const EndedFiguresQuery& query,
                        const std::function<void(const EndedFigures&)>& each);

class PostgresReader final : public HistoryReader {
 public:
  // Connects when it is first asked.
  PostgresReader(std::string conninfo, const PostgresRetry& retry);

  Result<std::vector<StoredHistory>> History(const HistoryQuery& query) override {
    return ReadHistory(session_, query);
  }
  Result<std::vector<EndedJob>> EndedJobs(const EndedJobsQuery& query) override {
    return ReadEndedJobs(session_, query);
  }
  Status EachEnded(const EndedFiguresQuery& query, const std::function<void(const EndedFigures&)>& each) override {
    return ReadFiguresOfAll(session_, query, each);
  }

 private:
  PostgresSession session_;
};

}  // namespace glim::store
