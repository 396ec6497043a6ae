// From when on a job may start at all (`start_after` of its spec).
#pragma once

#include "scheduler/core/model/blocker.h"
#include "scheduler/core/model/rows.h"
#include "sdk/base/status.h"
#include "sdk/base/time.h"

namespace glim::core {

// Until then the job is not planned; 0: it may be.
TimePoint FirstStart(const JobSpec& spec, TimePoint now);

// It is not further away than a year.
Status CheckFirstStart(const JobSpec& spec, TimePoint now);

// Of a job that waits for `not_before`: is that its first start? A job that has never been given nodes has nothing to
// recover from.
inline bool WaitsForFirstStart(const Job& job) { return job.not_before && job.attempts == 0; }
Blocker FirstStartBlocker(const Job& job, TimePoint now);

}  // namespace glim::core
