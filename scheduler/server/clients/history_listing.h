// One page of ended jobs for ListHistory.
#pragma once

#include "glim/v1/client_api.pb.h"
#include "scheduler/store/contract/store.h"
#include "sdk/base/result.h"

namespace glim::server {

// Checks the request. INVALID_ARGUMENT names the field.
Result<store::EndedJobsQuery> HistoryQueryOf(const v1::ListHistoryRequest& request, TimePoint now);
// Runs on the thread that owns the store. `query` as HistoryQueryOf made it.
Result<v1::ListHistoryResponse> ListHistory(store::Store& store, const store::EndedJobsQuery& query);

}  // namespace glim::server
