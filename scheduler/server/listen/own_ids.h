// Who a user of this machine is in tasks: the ids of the first administrator, who is the user that the scheduler runs
// as.
#pragma once

#include <cstdint>
#include <optional>

#include "scheduler/core/model/task_ids.h"

namespace glim::server {

// Nothing: root or another of the system's users (below 1000), as a packaged scheduler's is, or nobody. Groups of the
// system are left out, too: a policy has to list them before any task has them. A user who is in no user database has
// the gid of this process and no groups.
std::optional<core::TaskUser> IdsOf(std::uint32_t uid);

}  // namespace glim::server
