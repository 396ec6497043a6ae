#include "scheduler/store/postgres/postgres_history.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "scheduler/store/codec/ended_figures.h"
#include "scheduler/store/codec/row_codec.h"
#include "scheduler/store/contract/store_limits.h"

namespace glim::store {
namespace {

constexpr int kFiguresPage = 20'000;  // rows fetched at once

std::string_view FieldText(const pqxx::field& field) { return {field.c_str(), field.size()}; }

// The first entry that is not older: found by its index, for entries are written in the order of their time.
std::int64_t FirstSince(pqxx::nontransaction& query, TimePoint since) {
  if (since.ms <= 0) return 0;
  const pqxx::result rows = query.exec_prepared("history_since", since.ms);
  return rows.empty() ? std::numeric_limits<std::int64_t>::max() : rows[0][0].as<std::int64_t>();
}

// By which index ended jobs are looked through: the one that leaves the fewest rows to look at.
const char* EndedStatement(const EndedJobsQuery& query) {
  if (!query.user.empty()) return "ended_jobs_of_user";
  if (!query.team.empty()) return "ended_jobs_of_team";
  if (!query.pool.empty()) return "ended_jobs_of_pool";
  return query.priority.empty() ? "ended_jobs" : "ended_jobs_of_class";
}

std::string EndedSql(const char* lead) {
  return fmt::format(
      "SELECT job_id, body FROM ended_jobs WHERE {} (ended_at_ms, job_id) < ($1, $2) AND ended_at_ms >= $3 "
      "AND ($4 = '' OR state = $4) AND ($6 = '' OR user_name = $6) AND ($7 = '' OR team = $7) "
      "AND ($8 = '' OR pool = $8) AND ($9 = '' OR class = $9) AND ($10 = '' OR strpos(job_name, $10) > 0) "
      "ORDER BY ended_at_ms DESC, job_id DESC LIMIT $5",
      lead);
}

constexpr char kEntry[] = "SELECT seq, at_ms, kind, job_id, attempt, node_id, text, facts FROM history ";

// As the index history_hardware has it (migrations 0010).
constexpr char kOfHardware[] =
    "(kind IN ('health_event', 'health_condition', 'node_lost', 'node_registered', 'node_removed', 'node_cordoned', "
    "'node_uncordoned') OR kind = 'attempt_ended' AND ("
    "strpos(facts, '\"node_failure\"') > 0 OR strpos(facts, '\"gpu_failure\"') > 0 OR "
    "strpos(facts, '\"network\"') > 0 OR strpos(facts, '\"hang\"') > 0 OR strpos(facts, '\"out_of_memory\"') > 0))";

}  // namespace

void PrepareHistory(pqxx::connection& connection) {
  const std::string entry = kEntry;
  connection.prepare("history",
                     entry + "WHERE kind <> 'states_changed' AND seq > $1 AND seq >= $2 ORDER BY seq LIMIT $3");
  connection.prepare("history_of_job", entry +
                                           "WHERE job_id = $4 AND seq > $1 AND seq >= $2 AND ($5 = 0 OR node_id = $5) "
                                           "ORDER BY seq LIMIT $3");
  connection.prepare("history_of_node", entry + "WHERE node_id = $4 AND seq > $1 AND seq >= $2 ORDER BY seq LIMIT $3");
  connection.prepare("history_of_states",
                     entry + "WHERE kind = 'states_changed' AND seq > $1 AND seq >= $2 ORDER BY seq LIMIT $3");
  connection.prepare("history_of_hardware",
                     entry + "WHERE " + kOfHardware + " AND seq > $1 AND seq >= $2 ORDER BY seq LIMIT $3");
  connection.prepare("history_since", "SELECT seq FROM history WHERE at_ms >= $1 ORDER BY at_ms, seq LIMIT 1");
  connection.prepare("ended_jobs", EndedSql(""));
  connection.prepare("ended_jobs_of_user", EndedSql("user_name = $6 AND"));
  connection.prepare("ended_jobs_of_team", EndedSql("team = $7 AND"));
  connection.prepare("ended_jobs_of_pool", EndedSql("pool = $8 AND"));
  connection.prepare("ended_jobs_of_class", EndedSql("class = $9 AND"));
  connection.prepare("figures",
                     "SELECT ended_at_ms, job_id, figures FROM ended_jobs WHERE (ended_at_ms, job_id) > ($1, $2) "
                     "AND ended_at_ms < $3 ORDER BY ended_at_ms, job_id LIMIT $4");
}

Result<std::vector<HistoryReader::StoredHistory>> ReadHistory(PostgresSession& session,
                                                              const HistoryReader::HistoryQuery& wanted) {
  std::vector<HistoryReader::StoredHistory> found;
  const auto most = std::min(wanted.limit, kHistoryMax);
  const auto from = std::min<std::uint64_t>(wanted.after, std::numeric_limits<std::int64_t>::max());
  Status status = session.Run("read history", [&](pqxx::connection& connection) -> Status {
    found.clear();
    pqxx::nontransaction query(connection);
    const std::int64_t first = FirstSince(query, wanted.since);
    const pqxx::result rows =
        wanted.hardware ? query.exec_prepared("history_of_hardware", from, first, most)
        : wanted.states ? query.exec_prepared("history_of_states", from, first, most)
        : wanted.job    ? query.exec_prepared("history_of_job", from, first, most, wanted.job.value, wanted.node.value)
        : wanted.node   ? query.exec_prepared("history_of_node", from, first, most, wanted.node.value)
                        : query.exec_prepared("history", from, first, most);
    for (const pqxx::row& row : rows) {
      const auto seq = row[0].as<std::uint64_t>();
      auto entry = DecodeHistory({.seq = seq,
                                  .at_ms = row[1].as<std::int64_t>(),
                                  .kind = std::string(FieldText(row[2])),
                                  .job = row[3].as<std::uint64_t>(),
                                  .attempt = row[4].as<std::uint32_t>(),
                                  .node = row[5].as<std::uint32_t>(),
                                  .text = std::string(FieldText(row[6])),
                                  .facts = std::string(FieldText(row[7]))});
      if (!entry.ok()) return entry.status();
      found.push_back({seq, std::move(entry).value()});
    }
    return Status::Ok();
  });
  if (!status.ok()) return status;
  return found;
}

Result<std::vector<EndedJob>> ReadEndedJobs(PostgresSession& session, const EndedJobsQuery& query) {
  std::vector<EndedJob> found;
  const auto most = std::min(query.limit, kHistoryMax);
  const auto id = std::min<std::uint64_t>(query.before_id.value, std::numeric_limits<std::int64_t>::max());
  Status status = session.Run("read ended jobs", [&](pqxx::connection& connection) -> Status {
    found.clear();
    pqxx::nontransaction read(connection);
    const pqxx::result rows =
        read.exec_prepared(EndedStatement(query), query.before_at.ms, id, query.since.ms, query.state, most, query.user,
                           query.team, query.pool, query.priority, query.name);
    for (const pqxx::row& row : rows) {
      auto job = DecodeEndedJob(core::JobId(row[0].as<std::uint64_t>()), FieldText(row[1]));
      if (!job.ok()) return job.status();
      found.push_back(std::move(job).value());
    }
    return Status::Ok();
  });
  if (!status.ok()) return status;
  return found;
}

Status ReadFiguresOfAll(PostgresSession& session, const EndedFiguresQuery& query,
                        const std::function<void(const EndedFigures&)>& each) {
  std::int64_t last_at = std::max<std::int64_t>(query.since.ms, 0) - 1;
  std::uint64_t last_id = std::numeric_limits<std::int64_t>::max();
  return session.Run("read ended jobs", [&](pqxx::connection& connection) -> Status {
    pqxx::transaction<pqxx::repeatable_read, pqxx::read_only> snapshot(connection);
    EndedFigures figures;
    for (;;) {
      const pqxx::result rows = snapshot.exec_prepared("figures", last_at, last_id, query.until.ms, kFiguresPage);
      for (const pqxx::row& row : rows) {
        last_at = row[0].as<std::int64_t>();
        last_id = row[1].as<std::uint64_t>();
        const Status read = ReadFigures(core::JobId(last_id), TimePoint{last_at}, FieldText(row[2]), &figures);
        if (!read.ok()) return read;
        each(figures);
      }
      if (rows.size() < static_cast<pqxx::result::size_type>(kFiguresPage)) return Status::Ok();
    }
  });
}

PostgresReader::PostgresReader(std::string conninfo, const PostgresRetry& retry)
    : session_(std::move(conninfo), retry, [](pqxx::connection& connection) {
        connection.set_client_encoding("UTF8");
        connection.set_variable("default_transaction_read_only", "'on'");
        connection.set_variable("statement_timeout", "'60s'");
        connection.set_variable("idle_in_transaction_session_timeout", "'60s'");
        PrepareHistory(connection);
      }) {}

}  // namespace glim::store
