#include "scheduler/store/postgres/postgres_store.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/store/codec/commit_batch.h"
#include "scheduler/store/codec/row_codec.h"
#include "scheduler/store/codec/state_loader.h"
#include "scheduler/store/contract/store_limits.h"
#include "scheduler/store/postgres/postgres_arrays.h"

namespace glim::store {

namespace {

using pqxx::prepare::make_dynamic_params;

struct Fence {
  std::uint64_t epoch = 0;
  std::uint64_t commits = 0;
};

// Waits for whoever holds the rows: afterwards every earlier commit has either happened or never will.
Fence LockFence(pqxx::work& transaction) {
  const pqxx::result rows = transaction.exec_prepared_n(2, "lock_meta");
  return {rows[1][1].as<std::uint64_t>(), rows[0][1].as<std::uint64_t>()};
}

std::vector<PostgresWrite> WritesOf(const CommitBatch& batch, const std::vector<EndedJob>& ended) {
  std::vector<PostgresWrite> writes;
  {
    PostgresArrays jobs("delete_jobs", writes);
    for (const core::JobId job : batch.deleted_jobs) jobs.Row(job.value);
  }
  {
    PostgresArrays nodes("put_nodes", writes);
    for (const auto& [id, row] : batch.nodes) nodes.Row(id.value, CleanText(row->name), EncodeNode(*row));
  }
  {
    PostgresArrays jobs("put_jobs", writes);
    for (const auto& [id, row] : batch.jobs) {
      jobs.Row(id.value, core::WordOf(row->state), CleanText(row->user), row->submitted_at.ms, EncodeJob(*row));
    }
  }
  {
    PostgresArrays attempts("put_attempts", writes);
    for (const auto& [id, row] : batch.attempts) {
      attempts.Row(id.job.value, id.number, core::WordOf(row->state), EncodeAttempt(*row));
    }
  }
  {
    PostgresArrays tasks("put_tasks", writes);
    for (const auto& [id, row] : batch.tasks) {
      tasks.Row(id.attempt.job.value, id.attempt.number, id.index, EncodeTask(*row));
    }
  }
  {
    PostgresArrays put("put_accounts", writes);
    PostgresArrays gone("delete_accounts", writes);
    for (const auto& [key, row] : batch.accounts) {
      if (row != nullptr) {
        put.Row(key.kind, key.name, EncodeAccount(*row));
      } else {
        gone.Row(key.kind, key.name);
      }
    }
  }
  {
    PostgresArrays history("add_history", writes);
    for (const core::HistoryEntry* entry : batch.history) {
      history.Row(entry->at.ms, core::WordOf(entry->kind), entry->job.value, entry->attempt, entry->node.value,
                  CleanText(entry->text), EncodeHistoryFacts(entry->facts));
    }
  }
  {
    PostgresArrays jobs("put_ended_jobs", writes);
    for (const EndedJob& job : ended) {
      jobs.Row(job.id.value, job.ended_at.ms, CleanText(job.user), core::WordOf(job.state), EncodeEndedJob(job));
    }
  }
  return writes;
}

// The last statement: the commit counter, and the ids if there are any.
PostgresWrite MetaWrite(const CommitBatch& batch, std::uint64_t commits) {
  std::vector<PostgresWrite> writes;
  {
    PostgresArrays meta("raise_meta", writes);
    meta.Row("commits", commits);
    if (batch.ids) {
      meta.Row("next_job", batch.ids->next_job.value);
      meta.Row("next_node", batch.ids->next_node.value);
    }
  }
  return std::move(writes.front());
}

void Send(pqxx::work& transaction, const PostgresWrite& write) {
  transaction.exec_prepared(write.statement, make_dynamic_params(write.params));
}

constexpr int kPage = 2'000;  // rows fetched at once

using Snapshot = pqxx::transaction<pqxx::repeatable_read, pqxx::read_only>;

std::string_view Text(const pqxx::field& field) { return {field.c_str(), field.size()}; }

core::AttemptId AttemptOf(const pqxx::row& row) {
  return {core::JobId(row[0].as<std::uint64_t>()), row[1].as<std::uint32_t>()};
}

// Calls add(row) for every row of a query that goes on behind the `Keys` first columns of the last one.
template <std::size_t Keys, typename Add>
Status EachRow(Snapshot& snapshot, const char* statement, Add add) {
  std::vector<std::string> params(Keys, "-1");
  params.push_back(std::to_string(kPage));
  for (;;) {
    const pqxx::result rows = snapshot.exec_prepared(statement, make_dynamic_params(params));
    for (const pqxx::row& row : rows) {
      if (Status s = add(row); !s.ok()) return s;
    }
    if (rows.size() < static_cast<pqxx::result::size_type>(kPage)) return Status::Ok();
    for (std::size_t key = 0; key < Keys; ++key) {
      params[key] = rows.back()[static_cast<pqxx::row::size_type>(key)].as<std::string>();
    }
  }
}

Status LoadRows(Snapshot& snapshot, StateLoader& loader) {
  Status status = EachRow<1>(snapshot, "load_nodes", [&](const pqxx::row& row) {
    return loader.AddNode(core::NodeId(row[0].as<std::uint32_t>()), Text(row[1]));
  });
  if (!status.ok()) return status;
  status = EachRow<1>(snapshot, "load_jobs", [&](const pqxx::row& row) {
    return loader.AddJob(core::JobId(row[0].as<std::uint64_t>()), Text(row[1]));
  });
  if (!status.ok()) return status;
  status = EachRow<2>(snapshot, "load_attempts",
                      [&](const pqxx::row& row) { return loader.AddAttempt(AttemptOf(row), Text(row[2])); });
  if (!status.ok()) return status;
  status = EachRow<3>(snapshot, "load_tasks", [&](const pqxx::row& row) {
    return loader.AddTask({AttemptOf(row), row[2].as<std::uint32_t>()}, Text(row[3]));
  });
  if (!status.ok()) return status;
  for (const pqxx::row& row : snapshot.exec_prepared("load_accounts")) {
    status = loader.AddAccount({row[0].as<std::string>(), row[1].as<std::string>()}, Text(row[2]));
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

// The first entry that is not older: found by its index, for entries are written in the order of their time.
std::int64_t FirstSince(pqxx::nontransaction& query, TimePoint since) {
  if (since.ms <= 0) return 0;
  const pqxx::result rows = query.exec_prepared("history_since", since.ms);
  return rows.empty() ? std::numeric_limits<std::int64_t>::max() : rows[0][0].as<std::int64_t>();
}

}  // namespace

Result<std::uint64_t> PostgresStore::AcquireEpoch(std::uint64_t at_least) {
  std::uint64_t next = 0;
  // Repeated after a lost answer it skips a number, which is allowed.
  Status status = session_.Run("acquire the epoch", [&](pqxx::connection& connection) -> Status {
    pqxx::work transaction(connection);
    next = std::max(LockFence(transaction).epoch + 1, at_least);
    transaction.exec_prepared0("set_meta", "epoch", std::to_string(next));
    transaction.commit();
    return Status::Ok();
  });
  if (!status.ok()) return status;
  return next;
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
                             const std::vector<EndedJob>& ended) {
  const CommitBatch batch = Coalesce(mutations);
  const std::vector<PostgresWrite> writes = WritesOf(batch, ended);
  std::optional<std::uint64_t> in_doubt;  // what `commits` would be had the last try gone through
  return session_.Run("commit", [&](pqxx::connection& connection) -> Status {
    pqxx::work transaction(connection);
    const Fence fence = LockFence(transaction);
    // Under a newer epoch the outcome no longer matters: whoever reads this steps down and loads again.
    if (fence.epoch != epoch) return StaleEpoch(epoch, fence.epoch);
    if (in_doubt && fence.commits >= *in_doubt) return Status::Ok();
    in_doubt = fence.commits + 1;
    for (const PostgresWrite& write : writes) Send(transaction, write);
    Send(transaction, MetaWrite(batch, *in_doubt));
    transaction.commit();
    return Status::Ok();
  });
}

Result<std::vector<Store::StoredHistory>> PostgresStore::History(const HistoryQuery& wanted) {
  std::vector<StoredHistory> found;
  const auto most = std::min(wanted.limit, kHistoryMax);
  const auto from = std::min<std::uint64_t>(wanted.after, std::numeric_limits<std::int64_t>::max());
  Status status = session_.Run("read history", [&](pqxx::connection& connection) -> Status {
    found.clear();
    pqxx::nontransaction query(connection);
    const std::int64_t first = FirstSince(query, wanted.since);
    const pqxx::result rows =
        wanted.job    ? query.exec_prepared("history_of_job", from, first, most, wanted.job.value, wanted.node.value)
        : wanted.node ? query.exec_prepared("history_of_node", from, first, most, wanted.node.value)
                      : query.exec_prepared("history", from, first, most);
    for (const pqxx::row& row : rows) {
      const auto seq = row[0].as<std::uint64_t>();
      auto entry = DecodeHistory({.seq = seq,
                                  .at_ms = row[1].as<std::int64_t>(),
                                  .kind = std::string(Text(row[2])),
                                  .job = row[3].as<std::uint64_t>(),
                                  .attempt = row[4].as<std::uint32_t>(),
                                  .node = row[5].as<std::uint32_t>(),
                                  .text = std::string(Text(row[6])),
                                  .facts = std::string(Text(row[7]))});
      if (!entry.ok()) return entry.status();
      found.push_back({seq, std::move(entry).value()});
    }
    return Status::Ok();
  });
  if (!status.ok()) return status;
  return found;
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

Result<std::vector<EndedJob>> PostgresStore::EndedJobs(const EndedJobsQuery& query) {
  std::vector<EndedJob> found;
  const auto most = std::min(query.limit, kHistoryMax);
  const auto id = std::min<std::uint64_t>(query.before_id.value, std::numeric_limits<std::int64_t>::max());
  Status status = session_.Run("read ended jobs", [&](pqxx::connection& connection) -> Status {
    found.clear();
    pqxx::nontransaction read(connection);
    const pqxx::result rows =
        query.user.empty() ? read.exec_prepared("ended_jobs", query.before_at.ms, id, query.since.ms, query.state, most)
                           : read.exec_prepared("ended_jobs_of_user", query.before_at.ms, id, query.since.ms,
                                                query.state, most, query.user);
    for (const pqxx::row& row : rows) {
      auto job = DecodeEndedJob(core::JobId(row[0].as<std::uint64_t>()), Text(row[1]));
      if (!job.ok()) return job.status();
      found.push_back(std::move(job).value());
    }
    return Status::Ok();
  });
  if (!status.ok()) return status;
  return found;
}

Result<std::size_t> PostgresStore::DeleteHistory(std::uint64_t epoch, const char* entries, std::int64_t entries_bound,
                                                 const char* ended_jobs, std::int64_t ended_jobs_bound) {
  std::size_t gone = 0;
  // Repeated after a lost answer it deletes the next ones: the count is of the last run.
  Status status = session_.Run("prune history", [&](pqxx::connection& connection) -> Status {
    pqxx::work transaction(connection);
    if (const Fence fence = LockFence(transaction); fence.epoch != epoch) return StaleEpoch(epoch, fence.epoch);
    gone = transaction.exec_prepared(entries, entries_bound, kPruneMax).affected_rows();
    gone += transaction.exec_prepared(ended_jobs, ended_jobs_bound, kPruneMax).affected_rows();
    transaction.commit();
    return Status::Ok();
  });
  if (!status.ok()) return status;
  return gone;
}

Result<std::size_t> PostgresStore::PruneHistory(std::uint64_t epoch, TimePoint before) {
  return DeleteHistory(epoch, "prune", before.ms, "prune_ended_jobs", before.ms);
}

Result<std::size_t> PostgresStore::TrimHistory(std::uint64_t epoch, std::size_t entries_max,
                                               std::size_t ended_jobs_max) {
  return DeleteHistory(epoch, "trim", static_cast<std::int64_t>(entries_max), "trim_ended_jobs",
                       static_cast<std::int64_t>(ended_jobs_max));
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
