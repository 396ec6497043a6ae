#include "scheduler/store/postgres/postgres_writes.h"

#include "scheduler/core/model/enum_words.h"
#include "scheduler/store/codec/row_codec.h"

namespace glim::store {

namespace {

void AddDeletes(const CommitBatch& batch, std::vector<PostgresWrite>& writes) {
  {
    PostgresArrays jobs("delete_jobs", writes);
    for (const core::JobId job : batch.deleted_jobs) jobs.Row(job.value);
  }
  {
    PostgresArrays nodes("delete_nodes", writes);
    for (const core::NodeId node : batch.deleted_nodes) nodes.Row(node.value);
  }
  {
    PostgresArrays attempts("delete_attempts", writes);
    for (const core::AttemptId& id : batch.deleted_attempts) attempts.Row(id.job.value, id.number);
  }
  {
    PostgresArrays tasks("delete_tasks", writes);
    for (const core::AttemptId& id : batch.deleted_tasks) tasks.Row(id.job.value, id.number);
  }
  {
    PostgresArrays shares("delete_shares", writes);
    for (const core::ShareId& id : batch.deleted_shares) shares.Row(CleanText(id.team), CleanText(id.user));
  }
  {
    PostgresArrays tables("delete_life_tables", writes);
    for (const core::LifeTableId& id : batch.deleted_life_tables) {
      tables.Row(int{id.level}, CleanText(id.user), id.nodes, id.limit_minutes);
    }
  }
}

// Rows that change seldom: statements of their own.
void AddAccountsAndIdentity(const CommitBatch& batch, std::vector<PostgresWrite>& writes) {
  const auto add = [&](const char* put_statement, const char* gone_statement, const auto& rows, auto encode) {
    PostgresArrays put(put_statement, writes);
    PostgresArrays gone(gone_statement, writes);
    for (const auto& [key, row] : rows) {
      if (row != nullptr) {
        put.Row(key.kind, CleanText(key.name), encode(*row));
      } else {
        gone.Row(key.kind, CleanText(key.name));
      }
    }
  };
  add("put_accounts", "delete_accounts", batch.accounts, EncodeAccount);
  add("put_identity", "delete_identity", batch.identity, EncodeIdentity);
  PostgresArrays put("put_reservations", writes);
  PostgresArrays gone("delete_reservations", writes);
  for (const auto& [name, row] : batch.reservations) {
    if (row != nullptr) {
      put.Row(CleanText(name), EncodeReservation(*row));
    } else {
      gone.Row(CleanText(name));
    }
  }
}

}  // namespace

std::vector<PostgresWrite> WritesOf(const CommitBatch& batch, const std::vector<EndedJob>& ended,
                                    const std::vector<AuditRow>& audit) {
  std::vector<PostgresWrite> writes;
  AddDeletes(batch, writes);
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
    PostgresArrays shares("put_shares", writes);
    for (const auto& [id, row] : batch.shares) shares.Row(CleanText(id.team), CleanText(id.user), EncodeShare(*row));
  }
  {
    PostgresArrays tables("put_life_tables", writes);
    for (const auto& [id, row] : batch.life_tables) {
      tables.Row(int{id.level}, CleanText(id.user), id.nodes, id.limit_minutes, EncodeLifeTable(*row));
    }
  }
  AddAccountsAndIdentity(batch, writes);
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
  {
    PostgresArrays rows("add_audit", writes);
    for (const AuditRow& row : audit) {
      rows.Row(row.seq, row.at.ms, CleanText(row.user), EncodeAudit(row), CleanText(row.hash));
    }
  }
  return writes;
}

}  // namespace glim::store
