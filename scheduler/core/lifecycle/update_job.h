// Changes of a job's spec after its submission: its name, its time limit, and from when on it may start. The rest of a
// spec is what ranks run by, and stays.
//
// Whoever has nodes keeps to its time limit: a backfill hold (planner.h, 7) lets it run where it is gone in time. So a
// job with nodes may lower its limit, and an operator alone raises it.
#pragma once

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/event.h"

namespace glim::core {

void ApplyUpdate(Changes& changes, const UpdateJob& event);

}  // namespace glim::core
