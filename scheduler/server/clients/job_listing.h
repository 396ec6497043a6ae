// ListJobs over a snapshot: the order, the filters, the pages, the bounds. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "glim/v1/client_api.pb.h"
#include "scheduler/server/door/caller.h"
#include "scheduler/server/loop/snapshot.h"
#include "sdk/base/result.h"

namespace glim::server {

// How many jobs one page looks at, whatever its filters: what bounds its time. A page may then hold fewer than were
// asked for, or none, and next_page_token goes on.
inline constexpr std::size_t kLookedAtMax = 20'000;

// Jobs that run or are on their way first, then queued ones in the order in which they are planned, then held ones,
// then (if asked for) ended ones, newest first. A page token is a place in that order and tied to the filters, so that
// pages stay good while jobs come and go. A page also ends where the reply would get larger than clients take.
// Of others' jobs private parts are left out (door/private_parts.h); a job's own token is shown its jobs alone.
Result<v1::ListJobsResponse> ListJobs(const Snapshot& snapshot, const v1::ListJobsRequest& request,
                                      const Caller& caller, TimePoint now);

}  // namespace glim::server
