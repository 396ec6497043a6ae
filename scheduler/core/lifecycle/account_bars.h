// What users, teams and quotas keep a job from.
#pragma once

#include <string>

#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/policy.h"
#include "sdk/base/result.h"

namespace glim::core {

// Of the job's submission: the team that it counts for. `spec.team` must be one of the user's; empty: the user's first,
// or none.
Result<std::string> TeamFor(const Accounts& accounts, const std::string& user, const std::string& asked);

// May this user's jobs, for that team, be in that pool? USER_DISABLED, POOL_NOT_ALLOWED, UID_NOT_ALLOWED.
Status CheckAccess(const Accounts& accounts, const Policy& policy, const std::string& user, const std::string& team,
                   const std::string& pool);

// May a job of that class start at all? What refuses it names class, subject and number.
Status CheckQuotaAllows(const Accounts& accounts, const std::string& user, const std::string& team,
                        const JobSpec& spec);

}  // namespace glim::core
