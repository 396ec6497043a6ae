#include "scheduler/store/postgres/postgres_writes.h"

#include "scheduler/core/model/enum_words.h"
#include "scheduler/store/codec/row_codec.h"

namespace glim::store {

std::vector<PostgresWrite> WritesOf(const CommitBatch& batch, const std::vector<EndedJob>& ended,
                                    const std::vector<AuditRow>& audit) {
  std::vector<PostgresWrite> writes;
  {
    PostgresArrays gone("delete_rows", writes);
    for (const DeletedRow& row : batch.deleted) gone.Row(row.kind, row.key);
  }
  {
    PostgresArrays rows("put_rows", writes);
    for (const StoredRow& row : batch.rows) rows.Row(row.kind, row.key, row.body);
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
  {
    PostgresArrays rows("add_audit", writes);
    for (const AuditRow& row : audit) {
      rows.Row(row.seq, row.at.ms, CleanText(row.user), EncodeAudit(row), CleanText(row.hash));
    }
  }
  return writes;
}

}  // namespace glim::store
