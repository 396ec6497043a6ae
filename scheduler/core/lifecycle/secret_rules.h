// What of users' secrets the core decides: how many and how large they may be, and that a job names only those that its
// user has set. It knows names and sizes; values are sealed. Pure.
#pragma once

#include <string>

#include "scheduler/core/model/identity.h"
#include "scheduler/core/model/spec.h"
#include "sdk/base/status.h"

namespace glim::core {

// RESOURCE_EXHAUSTED (TOO_MANY_SECRETS): beside the user's other secrets there is no room for this one.
Status CheckSecretFits(const Identity& identity, const SecretRow& row);

// NOT_FOUND (NO_SUCH_SECRET): the user has none of a name that the spec uses.
Status CheckSecretsAreSet(const Identity& identity, const std::string& user, const JobSpec& spec);

// PERMISSION_DENIED (JOB_TOKEN): a job's own token hands on no secret that the job has not itself. `parent`: the spec
// of that job; null: it is gone.
Status CheckSecretsOfParent(const JobSpec* parent, const JobSpec& spec);

}  // namespace glim::core
