// The time limit of a job (`limits.time`): how long it may run, over all its attempts.
//
// At its limit an attempt is asked to save and leave like any victim (agreement_machine.h, Agreement::time_limit), and
// then the job is over: failed, its last attempt's outcome `timeout`. An agreement that is open already goes on, and
// ends the job. Nodes that are silent cannot be asked: their attempts are, when they are heard again.
#pragma once

#include <string>

#include "scheduler/core/model/policy.h"
#include "scheduler/core/model/rows.h"
#include "sdk/base/status.h"

namespace glim::core {

// When the attempt's job will have used up its limit; 0: there is none, or the attempt does not run or leaves anyway.
TimePoint LimitAt(const Job& job, const Attempt& attempt);

// The limit of a job of that pool that asks for `asked` (0: for none): the pool's time_max is the default, too.
Duration LimitInPool(const Policy& policy, const std::string& pool, Duration asked);
// It is not longer than its pool's time_max.
Status CheckLimitInPool(const Policy& policy, const JobSpec& spec);

// How long the job would be somewhere at most: whoever is gone again before something else begins does it no harm. 0:
// nobody can tell.
Duration LimitForHolds(const Policy& policy, const Job& job);

// The attempts that have ended have used it up.
bool LimitUsedUp(const Policy& policy, const Job& job);
// So have they together with this one, which ends now; or it was asked to leave for that.
bool EndsAtLimit(const Policy& policy, const Job& job, const Attempt& attempt, TimePoint now);

// "reached its time limit of 2 h"
std::string LimitReached(const Job& job);

}  // namespace glim::core
