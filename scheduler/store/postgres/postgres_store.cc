#include "scheduler/store/postgres/postgres_store.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "scheduler/store/codec/row_codec.h"
#include "scheduler/store/codec/state_loader.h"
#include "scheduler/store/contract/store_limits.h"
#include "scheduler/store/postgres/postgres_commit.h"
#include "scheduler/store/postgres/postgres_writes.h"

namespace glim::store {

namespace {

// Waits for whoever holds the rows: afterwards every earlier commit has either happened or never will.
PostgresFence LockFence(pqxx::work& transaction) {
  const pqxx::result rows = transaction.exec_prepared_n(2, "lock_meta");
  return {rows[1][1].as<std::uint64_t>(), rows[0][1].as<std::uint64_t>()};
}

// The database has fewer commits, or an older leader, than it had: what was acknowledged since is not there.
Status WentBack(const PostgresFence& ours, const PostgresFence& found) {
  return Status(StatusCode::kDataLoss,
                fmt::format("PostgreSQL went back: it has commit {} of epoch {}, this scheduler has made commit {} of "
                            "epoch {}; it was restored, or fell over to a replica that lacks the rest",
                            found.commits, found.epoch, ours.commits, ours.epoch))
      .WithReason("STORE_WENT_BACK")
      .WithFix("start again to go on from what the database has, or bring back the server that has everything first");
}

constexpr int kPage = 2'000;  // rows fetched at once

using Snapshot = pqxx::transaction<pqxx::repeatable_read, pqxx::read_only>;

std::string_view Text(const pqxx::field& field) { return {field.c_str(), field.size()}; }

Status LoadKind(Snapshot& snapshot, StateLoader& loader, std::string_view kind) {
  const std::string name(kind);
  std::string last;
  for (;;) {
    const pqxx::result rows = snapshot.exec_prepared("load_rows", name, last, kPage);
    for (const pqxx::row& row : rows) {
      if (Status s = loader.Add(kind, Text(row[0]), Text(row[1])); !s.ok()) return s;
    }
    if (rows.size() < static_cast<pqxx::result::size_type>(kPage)) return Status::Ok();
    last = rows.back()[0].as<std::string>();
  }
}

Status LoadRows(Snapshot& snapshot, StateLoader& loader) {
  for (const pqxx::row& row : snapshot.exec_prepared("kinds")) {
    if (Status s = StateLoader::CheckKind(Text(row[0])); !s.ok()) return s;
  }
  for (const std::string_view kind : StateLoader::Kinds()) {
    if (Status s = LoadKind(snapshot, loader, kind); !s.ok()) return s;
  }
  return Status::Ok();
}

}  // namespace

Result<std::uint64_t> PostgresStore::AcquireEpoch(std::uint64_t at_least) {
  std::uint64_t next = 0, commits = 0;
  // Repeated after a lost answer it skips a number, which is allowed.
  Status status = session_.Run("acquire the epoch", [&](pqxx::connection& connection) -> Status {
    pqxx::work transaction(connection);
    const PostgresFence found = LockFence(transaction);
    next = std::max(found.epoch + 1, at_least);
    commits = found.commits;
    transaction.exec_prepared0("set_meta", "epoch", std::to_string(next));
    transaction.commit();
    return Status::Ok();
  });
  if (!status.ok()) return status;
  acquired_ = next;
  commits_ = commits;
  in_doubt_ = false;
  return next;
}

Result<std::uint64_t> PostgresStore::NewestEpoch() {
  std::uint64_t newest = 0;
  Status status = session_.Run("read the epoch", [&](pqxx::connection& connection) -> Status {
    pqxx::nontransaction query(connection);
    newest = query.exec_prepared1("get_meta", "epoch")[0].as<std::uint64_t>();
    return Status::Ok();
  });
  if (!status.ok()) return status;
  return newest;
}

Result<std::unique_ptr<core::ClusterState>> PostgresStore::Load() {
  std::unique_ptr<core::ClusterState> state;
  Status status = session_.Run("load", [&](pqxx::connection& connection) -> Status {
    Snapshot snapshot(connection);
    StateLoader loader;
    if (Status s = LoadRows(snapshot, loader); !s.ok()) return s;
    const auto number = [&](const char* key) { return snapshot.exec_prepared1("get_meta", key)[0]; };
    const core::JobId next_job(number("next_job").as<std::uint64_t>());
    const core::NodeId next_node(number("next_node").as<std::uint32_t>());
    state = std::move(loader).Finish({next_job, next_node});
    return Status::Ok();
  });
  if (!status.ok()) return status;
  return state;
}

Status PostgresStore::Commit(std::uint64_t epoch, const std::vector<core::Mutation>& mutations,
                             const std::vector<EndedJob>& ended, const std::vector<AuditRow>& audit) {
  const CommitBatch batch = Coalesce(mutations);
  const std::vector<PostgresWrite> calls = InCalls(WritesOf(batch, ended, audit), batch.ids);
  const Status status = session_.Run("commit", [&](pqxx::connection& connection) -> Status {
    if (Status s = LearnCommits(connection); !s.ok()) return s;
    const PostgresFence ours{epoch, *commits_};
    const bool was_in_doubt = std::exchange(in_doubt_, true);
    const PostgresFence found = SendCommit(connection, ours, calls);
    in_doubt_ = false;
    if (found == ours) return Status::Ok();
    // Under a newer epoch the outcome no longer matters: whoever reads this steps down and loads again.
    const bool went_through = was_in_doubt && found == PostgresFence{epoch, ours.commits + 1};
    return went_through ? Status::Ok() : Displaced(ours, found);
  });
  if (status.ok()) ++*commits_;
  return status;
}

// `found` is not what this leader left behind.
Status PostgresStore::Displaced(const PostgresFence& ours, const PostgresFence& found) const {
  const bool never_ours = found.epoch < ours.epoch && ours.epoch != acquired_;
  if (found.epoch > ours.epoch || never_ours) return StaleEpoch(ours.epoch, found.epoch);
  if (found.epoch < ours.epoch || found.commits < ours.commits) return WentBack(ours, found);
  return Status(
             StatusCode::kAborted,
             fmt::format("PostgreSQL has commit {} of epoch {}, this scheduler has made {}: somebody else writes under "
                         "its epoch",
                         found.commits, found.epoch, ours.commits))
      .WithReason("STORE_DIVERGED")
      .WithFix("find the second writer: the database was copied, or written by hand");
}

// Only of a store that commits under an epoch that another one acquired.
Status PostgresStore::LearnCommits(pqxx::connection& connection) {
  if (commits_) return Status::Ok();
  pqxx::nontransaction query(connection);
  commits_ = query.exec_prepared1("get_meta", "commits")[0].as<std::uint64_t>();
  return Status::Ok();
}

Result<std::uint64_t> PostgresStore::LastHistory() {
  std::uint64_t last = 0;
  Status status = session_.Run("read the newest history", [&](pqxx::connection& connection) -> Status {
    pqxx::nontransaction query(connection);
    last = query.exec_prepared1("last_history")[0].as<std::uint64_t>();
    return Status::Ok();
  });
  if (!status.ok()) return status;
  return last;
}

Status PostgresStore::RunFenced(const char* what, std::uint64_t epoch, const std::function<void(pqxx::work&)>& write) {
  return session_.Run(what, [&](pqxx::connection& connection) -> Status {
    pqxx::work transaction(connection);
    const PostgresFence found = LockFence(transaction);
    const std::uint64_t commits = commits_.value_or(found.commits);
    const bool ours = found.commits == commits || (in_doubt_ && found.commits == commits + 1);
    if (found.epoch != epoch || !ours) return Displaced({epoch, commits}, found);
    write(transaction);
    transaction.commit();
    return Status::Ok();
  });
}

Result<std::size_t> PostgresStore::DeleteHistory(std::uint64_t epoch, const char* entries, std::int64_t entries_bound,
                                                 const char* ended_jobs, std::int64_t ended_jobs_bound) {
  std::size_t gone = 0;
  // Repeated after a lost answer it deletes the next ones: the count is of the last run.
  const Status status = RunFenced("prune history", epoch, [&](pqxx::work& transaction) {
    gone = transaction.exec_prepared(entries, entries_bound, kPruneMax).affected_rows();
    gone += transaction.exec_prepared(ended_jobs, ended_jobs_bound, kPruneMax).affected_rows();
  });
  if (!status.ok()) return status;
  return gone;
}

Result<std::size_t> PostgresStore::PruneHistory(std::uint64_t epoch, TimePoint before) {
  return DeleteHistory(epoch, "prune", before.ms, "prune_ended_jobs", before.ms);
}

Result<std::size_t> PostgresStore::TrimHistory(std::uint64_t epoch, const HistoryBounds& bounds) {
  std::int64_t mean = 0;
  Status status = session_.Run("read the history's size", [&](pqxx::connection& connection) -> Status {
    pqxx::nontransaction query(connection);
    mean = query.exec_prepared1("history_mean", kHistorySample)[0].as<std::int64_t>();
    return Status::Ok();
  });
  if (!status.ok()) return status;
  return DeleteHistory(epoch, "trim", bounds.EntriesLeft(mean), "trim_ended_jobs",
                       static_cast<std::int64_t>(bounds.ended_jobs_max));
}

}  // namespace glim::store
