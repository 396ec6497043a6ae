// A batch of changes as the statements that write it, each table's rows as one array a column. Pure.
#pragma once

#include <vector>

#include "scheduler/store/codec/commit_batch.h"
#include "scheduler/store/contract/audit.h"
#include "scheduler/store/contract/ended_job.h"
#include "scheduler/store/postgres/postgres_arrays.h"

namespace glim::store {

std::vector<PostgresWrite> WritesOf(const CommitBatch& batch, const std::vector<EndedJob>& ended,
                                    const std::vector<AuditRow>& audit);

}  // namespace glim::store
