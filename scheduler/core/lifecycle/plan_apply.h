// Carries a plan out: the atomic gang preemption. Each start is checked again against the state; one that does not hold
// any more is left out, and its job stays queued for the next pass.
#pragma once

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/plan.h"

namespace glim::core {

void ApplyPlan(Changes& changes, const Plan& plan);

}  // namespace glim::core
