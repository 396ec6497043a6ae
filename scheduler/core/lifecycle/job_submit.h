// How a job begins. All jobs of a submission are taken, or none; the answer is in changes.reply().
#pragma once

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/event.h"

namespace glim::core {

void ApplySubmit(Changes& changes, const SubmitJobs& event);

}  // namespace glim::core
