// Changes of users, teams and quotas, as operators ask for them.
#pragma once

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/event.h"

namespace glim::core {

// All changes or none. What is refused names the row, what is wrong and how to mend it; a change that changes nothing
// is none.
void ApplyAccounts(Changes& changes, const ChangeAccounts& event);

}  // namespace glim::core
