// One page of the past for a simulator (SchedApi.ExportHistory): jobs that ended, by pages; the nodes, and the jobs
// that have not ended, with the first. Names of jobs, commands and folders stay here.
#pragma once

#include "glim/v1/sched_api.pb.h"
#include "scheduler/server/loop/snapshot.h"
#include "scheduler/store/contract/store.h"
#include "sdk/base/result.h"

namespace glim::server {

inline constexpr std::size_t kLiveExportedMax = 20'000;

// Checks the request. INVALID_ARGUMENT names the field.
Result<store::EndedJobsQuery> ExportQueryOf(const v1::ExportHistoryRequest& request, TimePoint now);

// Runs on the thread that owns the reader. `query` as ExportQueryOf made it of the request.
Status ExportEnded(store::HistoryReader& reader, const v1::ExportHistoryRequest& request,
                   const store::EndedJobsQuery& query, v1::ExportHistoryResponse* response);
// What the first page has beside.
void ExportPresent(const Snapshot& snapshot, TimePoint now, v1::ExportHistoryResponse* response);

void PastJobOf(const store::EndedJob& job, v1::PastJob* out);

}  // namespace glim::server
