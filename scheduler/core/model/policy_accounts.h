// What a policy's `quotas:` and `links:` say, as rows: read from a file by the simulator and the tests, and once by a
// scheduler whose store has no rows yet.
#pragma once

#include <vector>

#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/policy.h"

namespace glim::core {

// Teams that a quota or a weight names, and the quotas; in the order of their keys. A user, team or pool whose mapping
// is empty has no limit: a row that allows everything, so that nothing farther bounds it.
std::vector<AccountChange> QuotasOf(const Policy& policy);
std::vector<AccountChange> LinksOf(const Policy& policy);
// Both.
std::vector<AccountChange> AccountsOf(const Policy& policy);

}  // namespace glim::core
