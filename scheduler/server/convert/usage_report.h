// The ledger for people: where every GPU-millisecond went, by pool, team, user or job, from the rows of one snapshot.
//
// Every node's time up to now is in one class of one row, so that the rows sum to the GPU-time for which the nodes have
// been registered, exactly. What has not been booked yet (the node's present use since it began) is counted as of now.
#pragma once

#include "glim/v1/admin_api.pb.h"
#include "scheduler/server/loop/snapshot.h"
#include "sdk/base/result.h"

namespace glim::server {

// `by`: pool, team, user, job; empty: pool. INVALID_ARGUMENT names the field.
Result<v1::GetReportResponse> MakeReport(const core::Tables& tables, const std::string& by, TimePoint now);

// Of one job until now: what is booked, and what its live attempt's nodes have been doing since.
core::UseTotals UsesOf(const core::Tables& tables, const core::Job& job, TimePoint now);
void UsesToProto(const core::UseTotals& uses, v1::Uses* out);

}  // namespace glim::server
