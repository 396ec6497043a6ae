// One page of ended jobs for ListHistory.
#pragma once

#include "glim/v1/client_api.pb.h"
#include "scheduler/store/contract/store.h"
#include "sdk/base/result.h"

namespace glim::server {

// Checks the request. INVALID_ARGUMENT names the field.
Result<store::EndedJobsQuery> HistoryQueryOf(const v1::ListHistoryRequest& request, TimePoint now);
// Some jobs that it looks for may be far between: to be read beside the strand (history_desk.h).
inline bool IsFiltered(const v1::ListHistoryRequest& request) {
  return !request.pool().empty() || !request.team().empty() || !request.priority().empty() || !request.name().empty();
}
// Runs on the thread that owns the reader. `query` as HistoryQueryOf made it of the request.
Result<v1::ListHistoryResponse> ListHistory(store::HistoryReader& store, const v1::ListHistoryRequest& request,
                                            const store::EndedJobsQuery& query);

}  // namespace glim::server
