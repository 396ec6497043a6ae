// Notifications, as far as the core has to do with them: which names a spec may give, and what the history says of one
// that the policy has no more. Who sends them is scheduler/notify.
#pragma once

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/event.h"
#include "scheduler/core/model/policy.h"
#include "scheduler/core/model/spec.h"

namespace glim::core {

// INVALID_ARGUMENT (field notify.to[i]): the policy has no such name; the fix names those that there are.
Status CheckNotify(const Policy& policy, const JobSpec& spec);
void NoteNotifySkipped(Changes& changes, const NotifySkipped& event);

}  // namespace glim::core
