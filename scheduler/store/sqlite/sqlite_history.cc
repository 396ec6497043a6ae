#include "scheduler/store/sqlite/sqlite_history.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "scheduler/store/codec/ended_figures.h"
#include "scheduler/store/codec/row_codec.h"
#include "scheduler/store/contract/store_limits.h"

namespace glim::store {
namespace {

constexpr char kEntry[] = "SELECT seq, at_ms, kind, job_id, attempt, node_id, text, facts FROM history ";

// As the index history_hardware has it (migrations 0010).
constexpr char kOfHardware[] =
    "(kind IN ('health_event', 'health_condition', 'node_lost', 'node_registered', 'node_removed', 'node_cordoned', "
    "'node_uncordoned') OR kind = 'attempt_ended' AND ("
    "instr(facts, '\"node_failure\"') > 0 OR instr(facts, '\"gpu_failure\"') > 0 OR "
    "instr(facts, '\"network\"') > 0 OR instr(facts, '\"hang\"') > 0 OR instr(facts, '\"out_of_memory\"') > 0))";

// Whole questions are answered from the index that leads to the rows, as far as they can be.
std::string EndedSql(const char* index, const char* lead) {
  return fmt::format(
      "SELECT job_id, body FROM ended_jobs INDEXED BY {} WHERE {} (ended_at_ms, job_id) < (?1, ?2) "
      "AND ended_at_ms >= ?3 AND (?4 = '' OR state = ?4) AND (?6 = '' OR user_name = ?6) AND (?7 = '' OR team = ?7) "
      "AND (?8 = '' OR pool = ?8) AND (?9 = '' OR class = ?9) AND (?10 = '' OR instr(job_name, ?10) > 0) "
      "ORDER BY ended_at_ms DESC, job_id DESC LIMIT ?5",
      index, lead);
}

}  // namespace

Result<std::int64_t> FirstSince(SqliteStatement& query, TimePoint since) {
  if (since.ms <= 0) return std::int64_t{0};
  query.Bind(since.ms);
  auto row = query.Step();
  if (!row.ok()) return row.status();
  if (!*row) return std::numeric_limits<std::int64_t>::max();
  const std::int64_t seq = query.Int(0);
  query.Reset();
  return seq;
}

Status SqliteHistory::Prepare(SqliteDb& db) {
  const std::string entry = kEntry;
  const std::pair<SqliteStatement*, std::string> all[] = {
      {&all_, entry + "WHERE kind <> 'states_changed' AND seq > ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3"},
      {&of_job_,
       entry + "WHERE job_id = ?4 AND seq > ?1 AND seq >= ?2 AND (?5 = 0 OR node_id = ?5) ORDER BY seq LIMIT ?3"},
      {&of_node_, entry + "WHERE node_id = ?4 AND seq > ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3"},
      {&of_states_, entry + "WHERE kind = 'states_changed' AND seq > ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3"},
      {&of_hardware_, entry + "INDEXED BY history_hardware WHERE " + kOfHardware +
                          " AND seq > ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3"},
      {&since_, "SELECT seq FROM history WHERE at_ms >= ?1 ORDER BY at_ms, seq LIMIT 1"},
      {&last_, "SELECT coalesce(max(seq), 0) FROM history"},
      {&figures_,
       "SELECT ended_at_ms, job_id, figures FROM ended_jobs INDEXED BY ended_jobs_figures "
       "WHERE ended_at_ms >= ?1 AND ended_at_ms < ?2 ORDER BY ended_at_ms, job_id"},
      {&ended_[kByTime], EndedSql("ended_jobs_by_time", "")},
      {&ended_[kByUser], EndedSql("ended_jobs_by_user", "user_name = ?6 AND")},
      {&ended_[kByTeam], EndedSql("ended_jobs_by_team", "team = ?7 AND")},
      {&ended_[kByPool], EndedSql("ended_jobs_by_pool", "pool = ?8 AND")},
      {&ended_[kByClass], EndedSql("ended_jobs_by_class", "class = ?9 AND")},
      {&ended_[kByName], EndedSql("ended_jobs_by_name", "")},
  };
  for (const auto& [statement, sql] : all) {
    auto prepared = db.Prepare(sql.c_str());
    if (!prepared.ok()) return prepared.status();
    *statement = std::move(prepared).value();
  }
  return Status::Ok();
}

Result<std::vector<HistoryReader::StoredHistory>> SqliteHistory::History(const HistoryReader::HistoryQuery& wanted) {
  SqliteStatement& query = wanted.hardware ? of_hardware_
                           : wanted.states ? of_states_
                           : wanted.job    ? of_job_
                           : wanted.node   ? of_node_
                                           : all_;
  const std::size_t most = std::min(wanted.limit, kHistoryMax);
  const auto from = std::min<std::uint64_t>(wanted.after, std::numeric_limits<std::int64_t>::max());
  auto first = FirstSince(since_, wanted.since);
  if (!first.ok()) return first.status();
  const bool all = wanted.states || wanted.hardware;  // whoever's they are
  if (wanted.job && !all) {
    query.Bind(from, *first, most, wanted.job.value, wanted.node.value);
  } else if (wanted.node && !all) {
    query.Bind(from, *first, most, wanted.node.value);
  } else {
    query.Bind(from, *first, most);
  }
  std::vector<HistoryReader::StoredHistory> found;
  for (;;) {
    auto row = query.Step();
    if (!row.ok()) return row.status();
    if (!*row) return found;
    const std::uint64_t seq = query.Unsigned(0);
    auto entry = DecodeHistory({.seq = seq,
                                .at_ms = query.Int(1),
                                .kind = std::string(query.Text(2)),
                                .job = query.Unsigned(3),
                                .attempt = static_cast<std::uint32_t>(query.Int(4)),
                                .node = static_cast<std::uint32_t>(query.Int(5)),
                                .text = std::string(query.Text(6)),
                                .facts = std::string(query.Text(7))});
    if (!entry.ok()) {
      query.Reset();
      return entry.status();
    }
    found.push_back({seq, std::move(entry).value()});
  }
}

Result<std::uint64_t> SqliteHistory::LastHistory() {
  auto row = last_.Step();
  if (!row.ok()) return row.status();
  const std::uint64_t last = *row ? last_.Unsigned(0) : 0;
  last_.Reset();
  return last;
}

// The one that leaves the fewest rows to look at.
SqliteHistory::By SqliteHistory::IndexFor(const EndedJobsQuery& query) {
  if (!query.user.empty()) return kByUser;
  if (!query.team.empty()) return kByTeam;
  if (!query.pool.empty()) return kByPool;
  if (!query.priority.empty()) return kByClass;
  return query.name.empty() ? kByTime : kByName;
}

Result<std::vector<EndedJob>> SqliteHistory::EndedJobs(const EndedJobsQuery& query) {
  SqliteStatement& rows = ended_[IndexFor(query)];
  const std::size_t most = std::min(query.limit, kHistoryMax);
  const auto before_id = std::min<std::uint64_t>(query.before_id.value, std::numeric_limits<std::int64_t>::max());
  rows.Bind(query.before_at.ms, before_id, query.since.ms, query.state, most, query.user, query.team, query.pool,
            query.priority, query.name);
  std::vector<EndedJob> found;
  for (;;) {
    auto row = rows.Step();
    if (!row.ok()) return row.status();
    if (!*row) return found;
    auto job = DecodeEndedJob(core::JobId(rows.Unsigned(0)), rows.Text(1));
    if (!job.ok()) {
      rows.Reset();
      return job.status();
    }
    found.push_back(std::move(job).value());
  }
}

Status SqliteHistory::EachEnded(const EndedFiguresQuery& query, const std::function<void(const EndedFigures&)>& each) {
  figures_.Bind(query.since.ms, query.until.ms);
  EndedFigures figures;
  for (;;) {
    auto row = figures_.Step();
    if (!row.ok()) return row.status();
    if (!*row) return Status::Ok();
    const TimePoint ended_at{figures_.Int(0)};
    if (Status s = ReadFigures(core::JobId(figures_.Unsigned(1)), ended_at, figures_.Text(2), &figures); !s.ok()) {
      figures_.Reset();
      return s;
    }
    each(figures);
  }
}

Result<std::unique_ptr<HistoryReader>> SqliteReader::Open(const std::string& path) {
  auto db = SqliteDb::Open(path);
  if (!db.ok()) return db.status();
  // A checkpoint of the writer's may hold it up for a moment. Many rows are read once: a small cache will do.
  if (Status s = (*db)->Exec("PRAGMA busy_timeout = 5000; PRAGMA query_only = ON; PRAGMA trusted_schema = OFF; "
                             "PRAGMA mmap_size = 0; PRAGMA cache_size = -16384");
      !s.ok()) {
    return s;
  }
  std::unique_ptr<SqliteReader> reader(new SqliteReader(std::move(db).value()));
  if (Status s = reader->history_.Prepare(*reader->db_); !s.ok()) return s;
  return std::unique_ptr<HistoryReader>(std::move(reader));
}

}  // namespace glim::store
